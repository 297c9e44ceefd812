"""Values that AWS Secrets Manager keeps for us, fetched when first needed."""

import threading
import time
from collections.abc import Callable
from typing import Any, Final

from botocore.exceptions import BotoCoreError, ClientError

from lamplighter.adapters.targets.aws.calls import code_of, is_passing
from lamplighter.adapters.targets.aws.clients import Clients
from lamplighter.ports.target import SecretUnavailable

# A rotated secret is seen after this long; fetching it for every run would cost more than the run.
KEPT_SECONDS: Final = 300.0


class KeptSecrets:
    def __init__(self, clients: Clients, steady: Callable[[], float] = time.monotonic) -> None:
        self._clients = clients
        self._steady = steady
        self._lock = threading.Lock()
        self._kept: dict[str, tuple[float, str]] = {}

    def value(self, secret_id: str, called: str | None = None) -> str:
        """By name or ARN; errors call it by the name that whoever reads them knows it by."""
        with self._lock:
            kept = self._kept.get(secret_id)
        if kept is not None and kept[0] > self._steady():
            return kept[1]
        value = self._fetch(secret_id, called or secret_id)
        with self._lock:
            self._kept[secret_id] = (self._steady() + KEPT_SECONDS, value)
        return value

    def _fetch(self, secret_id: str, called: str) -> str:
        try:
            client = self._clients.get("secretsmanager", _region(secret_id))
            found: dict[str, Any] = client.get_secret_value(SecretId=secret_id)
        except ClientError as error:
            raise SecretUnavailable(
                f"secret {called!r}: {code_of(error)}", retryable=is_passing(error)
            ) from None
        except BotoCoreError as error:
            raise SecretUnavailable(
                f"secret {called!r}: {type(error).__name__}", retryable=True
            ) from None
        if "SecretString" not in found:
            raise SecretUnavailable(f"secret {called!r} is binary; store text", retryable=False)
        return str(found["SecretString"])


def _region(secret_id: str) -> str | None:
    """Its own, out of arn:aws:secretsmanager:<region>:<account>:secret:<name>."""
    parts = secret_id.split(":")
    return parts[3] if parts[0] == "arn" and len(parts) > 6 else None
