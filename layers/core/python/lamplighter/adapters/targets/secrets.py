"""Where `{"secret": "name"}` finds its value: AWS Secrets Manager, or a folder on this machine."""

import threading
import time
from pathlib import Path
from typing import Final

from botocore.exceptions import BotoCoreError, ClientError

from lamplighter.adapters.targets.aws.calls import code_of, is_passing
from lamplighter.adapters.targets.aws.clients import Clients
from lamplighter.ports.target import SecretUnavailable

# A rotated secret is seen after this long; fetching it for every run would cost more than the run.
KEPT_SECONDS: Final = 300.0


class FolderSecrets:
    """`<folder>/<tenant>/<name>`, one value per file."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder.resolve()

    def resolve(self, tenant: str, name: str) -> str:
        path = (self._folder / tenant / name).resolve()
        if path.parent != self._folder / tenant:
            raise SecretUnavailable(f"{name!r} is no name of a secret", retryable=False)
        try:
            return path.read_text(encoding="utf-8").rstrip("\n")
        except (OSError, UnicodeDecodeError) as problem:
            raise SecretUnavailable(
                f"secret {name!r} cannot be read: {type(problem).__name__}", retryable=False
            ) from None


class ManagedSecrets:
    """`<prefix>/<tenant>/<name>` in AWS Secrets Manager, kept for a few minutes."""

    def __init__(self, clients: Clients, prefix: str = "lamplighter") -> None:
        self._clients = clients
        self._prefix = prefix
        self._lock = threading.Lock()
        self._kept: dict[str, tuple[float, str]] = {}

    def resolve(self, tenant: str, name: str) -> str:
        key = f"{self._prefix}/{tenant}/{name}"
        with self._lock:
            kept = self._kept.get(key)
        if kept is not None and kept[0] > time.monotonic():
            return kept[1]
        value = self._fetch(key, name)
        with self._lock:
            self._kept[key] = (time.monotonic() + KEPT_SECONDS, value)
        return value

    def _fetch(self, key: str, name: str) -> str:
        try:
            found = self._clients.get("secretsmanager").get_secret_value(SecretId=key)
        except ClientError as error:
            raise SecretUnavailable(
                f"secret {name!r}: {code_of(error)}", retryable=is_passing(error)
            ) from None
        except BotoCoreError as error:
            raise SecretUnavailable(
                f"secret {name!r}: {type(error).__name__}", retryable=True
            ) from None
        if "SecretString" not in found:
            raise SecretUnavailable(f"secret {name!r} is binary; store text", retryable=False)
        return str(found["SecretString"])
