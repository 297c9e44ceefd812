"""Secrets: those of targets, and those that a setting names."""

from pathlib import Path
from typing import TYPE_CHECKING

from lamplighter.ports.secrets import Held
from lamplighter.ports.target import Secrets
from lamplighter.settings import REFERENCE
from lamplighter.settings import Secrets as SecretsKind
from lamplighter.wiring.around import clients, settings
from lamplighter.wiring.once import once

if TYPE_CHECKING:
    from lamplighter.adapters.aws_identity.secrets import KeptSecrets


@once
def secrets() -> Secrets:
    from lamplighter.adapters.targets.secrets import FolderSecrets, ManagedSecrets

    if settings().secrets is SecretsKind.AWS:
        return ManagedSecrets(kept_secrets(), settings().secrets_prefix)
    return FolderSecrets(Path(settings().data_dir) / "secrets")


@once
def kept_secrets() -> "KeptSecrets":
    from lamplighter.adapters.aws_identity.secrets import KeptSecrets

    return KeptSecrets(clients())


def held(given: str) -> Held:
    """A secret setting: as it stands, or fetched when it is first needed."""
    if not given.startswith(REFERENCE):
        return given
    return lambda: kept_secrets().value(given.removeprefix(REFERENCE))
