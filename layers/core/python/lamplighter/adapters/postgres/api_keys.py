"""API keys in PostgreSQL."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

from lamplighter.adapters.postgres.database import Database
from lamplighter.adapters.postgres.queries import queries
from lamplighter.domain.api_key import ApiKey, Role
from lamplighter.ports.api_keys import KeyNotFound

_SQL = queries("api_keys")


class PostgresApiKeys:
    def __init__(self, database: Database) -> None:
        self._db = database

    def add(
        self, digest: bytes, *, tenant: str, name: str, role: Role, lifetime: timedelta | None
    ) -> ApiKey:
        params = {
            "key_id": uuid4(), "tenant": tenant, "name": name, "role": role.value, "hash": digest,
            "lifetime": lifetime,
        }  # fmt: skip
        [row] = self._db.statement(_SQL["add"], params)
        return _key(row)

    def find(self, digest: bytes) -> ApiKey | None:
        rows = self._db.statement(_SQL["find"], {"hash": digest})
        return _key(rows[0]) if rows else None

    def list(self, tenant: str | None = None) -> list[ApiKey]:
        return [_key(row) for row in self._db.statement(_SQL["list"], {"tenant": tenant})]

    def revoke(self, key_id: UUID) -> bytes:
        rows = self._db.statement(_SQL["revoke"], {"key_id": key_id})
        if not rows:
            raise KeyNotFound(f"There is no key {key_id}.")
        return bytes(rows[0][0])

    def let_go(self) -> None:
        """Close every connection, so that the server may rest."""
        self._db.let_go()

    def close(self) -> None:
        self._db.close()


def _key(row: Sequence[Any]) -> ApiKey:
    key_id, tenant, name, role, created_at, expires_at, revoked_at = row
    return ApiKey(
        key_id=key_id,
        tenant=tenant,
        name=name,
        role=Role(role),
        created_at=created_at,
        expires_at=expires_at,
        revoked_at=revoked_at,
    )
