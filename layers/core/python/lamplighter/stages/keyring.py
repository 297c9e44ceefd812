"""Keyring: API keys are made, listed and revoked."""

from contextlib import suppress
from datetime import timedelta

from lamplighter.contracts.keyring import AddKey, ListKeys, Order
from lamplighter.domain.api_key import ApiKey
from lamplighter.ports.api_keys import ApiKeys
from lamplighter.ports.cache import Cache
from lamplighter.ports.queue import QueueUnavailable


class Keyring:
    def __init__(self, keys: ApiKeys, cache: Cache | None) -> None:
        self._keys = keys
        self._cache = cache

    def obey(self, order: Order) -> list[ApiKey]:
        """What was made, or found; of one that was revoked, nothing. KeyNotFound."""
        if isinstance(order, AddKey):
            return [self._add(order)]
        if isinstance(order, ListKeys):
            return self._keys.list(order.tenant)
        digest = self._keys.revoke(order.key_id)
        if self._cache is not None:
            # Without this it dies as well, when the cache next asks the ledger.
            with suppress(QueueUnavailable):
                self._cache.forget_api_key(digest.hex())
        return []

    def _add(self, order: AddKey) -> ApiKey:
        seconds = order.lifetime_seconds
        return self._keys.add(
            order.digest,
            tenant=order.tenant,
            name=order.name,
            role=order.role,
            lifetime=None if seconds is None else timedelta(seconds=seconds),
        )
