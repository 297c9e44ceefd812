"""Where API keys are kept, by their digests. LedgerUnavailable where that is out of reach."""

from datetime import timedelta
from typing import Protocol
from uuid import UUID

from lamplighter.domain.api_key import ApiKey, Role
from lamplighter.domain.errors import LamplighterError


class KeyNotFound(LamplighterError):
    """No key has this id."""


class ApiKeys(Protocol):
    def add(
        self, digest: bytes, *, tenant: str, name: str, role: Role, lifetime: timedelta | None
    ) -> ApiKey: ...

    def find(self, digest: bytes) -> ApiKey | None:
        """Whatever became of it since: also one that was revoked."""

    def list(self, tenant: str | None = None) -> "list[ApiKey]":
        """Newest first; of one tenant, or of all."""

    def revoke(self, key_id: UUID) -> bytes:
        """For good; its digest. Again is as once. KeyNotFound where there is none."""
