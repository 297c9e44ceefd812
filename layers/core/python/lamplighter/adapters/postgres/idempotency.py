"""Idempotency-Keys of changes: who used one first, for what, and what was answered."""

from typing import Any

from psycopg import Cursor
from psycopg.types.json import Json

from lamplighter.adapters.postgres.database import Database, Row
from lamplighter.adapters.postgres.queries import queries
from lamplighter.domain.errors import IdempotencyConflict
from lamplighter.ports.ledger import KeyUse

_SQL = queries("idempotency")


class PostgresKeys:
    _db: Database

    def use_key(self, tenant: str, route: str, key: str, fingerprint: bytes) -> KeyUse:
        params = {"tenant": tenant, "route": route, "key": key, "fingerprint": fingerprint}

        def work(cursor: Cursor[Row]) -> KeyUse:
            cursor.execute(_SQL["forget_old_keys"])
            [[known, used_at, answer]] = cursor.execute(_SQL["use_key"], params).fetchall()
            if known != fingerprint:
                raise IdempotencyConflict(IdempotencyConflict.__doc__)
            return KeyUse(used_at, answer)

        return self._db.run(work)

    def answer_key(
        self, tenant: str, route: str, key: str, fingerprint: bytes, answer: Any
    ) -> None:
        params = {"tenant": tenant, "route": route, "key": key, "fingerprint": fingerprint}
        self._db.statement(_SQL["answer_key"], params | {"answer": Json(answer)})

    def forget_key(self, tenant: str, route: str, key: str) -> None:
        self._db.statement(_SQL["forget_key"], {"tenant": tenant, "route": route, "key": key})
