"""Idempotency-Keys of changes: who used one first, for what, and what was answered."""

from datetime import timedelta
from typing import Any, Final

import msgspec

from lamplighter.adapters.memory.books import UsedKey
from lamplighter.adapters.memory.transaction import Transactional
from lamplighter.domain.errors import IdempotencyConflict
from lamplighter.ports.ledger import KeyUse

_REMEMBERED: Final = timedelta(days=1)


class MemoryKeys(Transactional):
    def use_key(self, tenant: str, route: str, key: str, fingerprint: bytes) -> KeyUse:
        with self._transaction() as books:
            known = books.idempotency.get((tenant, route, key))
            if known is None or known.use.used_at < books.now - _REMEMBERED:
                known = UsedKey(fingerprint, KeyUse(books.now))
                books.idempotency[tenant, route, key] = known
            if known.fingerprint != fingerprint:
                raise IdempotencyConflict(IdempotencyConflict.__doc__)
            return known.use

    def answer_key(
        self, tenant: str, route: str, key: str, fingerprint: bytes, answer: Any
    ) -> None:
        with self._transaction() as books:
            fresh = UsedKey(fingerprint, KeyUse(books.now))
            known = books.idempotency.get((tenant, route, key), fresh)
            if known.fingerprint == fingerprint:
                use = msgspec.structs.replace(known.use, answer=answer)
                books.idempotency[tenant, route, key] = UsedKey(fingerprint, use)

    def forget_key(self, tenant: str, route: str, key: str) -> None:
        with self._transaction() as books:
            known = books.idempotency.get((tenant, route, key))
            if known is not None and known.use.answer is None:
                del books.idempotency[tenant, route, key]
