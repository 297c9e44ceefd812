"""Where `{"secret": "name"}` finds its value: AWS Secrets Manager, or a folder on this machine."""

from pathlib import Path

from lamplighter.adapters.aws_identity.secrets import KeptSecrets
from lamplighter.ports.target import SecretUnavailable


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

    def __init__(self, kept: KeptSecrets, prefix: str) -> None:
        self._kept = kept
        self._prefix = prefix

    def resolve(self, tenant: str, name: str) -> str:
        return self._kept.value(f"{self._prefix}/{tenant}/{name}", name)
