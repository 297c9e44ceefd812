"""Authorize: who stands behind a key, asked for at every request and looked up once in a while.

In this process, then in the cache, then in the ledger. While the ledger is away the cache is
believed, however old. A key that was revoked is good for MOST_STALE at most while it is not.
"""

import threading
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Final

import msgspec

from lamplighter.contracts.authorizer import Known
from lamplighter.domain.api_key import ApiKey, digest, looks_like_key
from lamplighter.domain.errors import LedgerUnavailable
from lamplighter.ports.api_keys import ApiKeys
from lamplighter.ports.cache import Cache
from lamplighter.ports.queue import QueueUnavailable
from lamplighter.stages.reach import Reach

# In this process, and in the cache without asking the ledger: both may follow one another.
FRESH: Final = timedelta(seconds=30)
MOST_STALE: Final = 2 * FRESH
# In the cache, for when the ledger is away: whoever came within this gets in.
KEPT: Final = timedelta(days=7)
# Somebody who tries keys must not fill the process.
_MOST: Final = 10_000

Remembered = tuple[datetime, Known | None]


class Authorizer:
    def __init__(
        self, keys: ApiKeys, cache: Cache, reach: Reach, now: Callable[[], datetime]
    ) -> None:
        self._keys = keys
        self._cache = cache
        self._reach = reach
        self._now = now
        self._lock = threading.Lock()
        self._remembered: dict[str, Remembered] = {}

    def who(self, key: str) -> Known | None:
        """None: nobody, or no longer. LedgerUnavailable: nobody can tell now."""
        if not looks_like_key(key):
            return None
        now = self._now()
        found = self._known(digest(key).hex(), now)
        if found is None or (found.expires_at is not None and found.expires_at <= now):
            return None
        return found

    def _known(self, name: str, now: datetime) -> Known | None:
        with self._lock:
            until, known = self._remembered.get(name, (now, None))
        if until > now:
            return known
        known = self._look_up(name, now)
        with self._lock:
            if len(self._remembered) >= _MOST:
                self._remembered.clear()
            self._remembered[name] = (now + FRESH, known)
        return known

    def _look_up(self, name: str, now: datetime) -> Known | None:
        cached = self._cached(name)
        # Also not from the future: whoever could write that would have a key for ever.
        if cached is not None and abs(now - cached.checked_at) < FRESH:
            return cached
        try:
            found = self._reach(lambda: self._keys.find(bytes.fromhex(name)))
        except LedgerUnavailable:
            if cached is None:
                raise
            return cached
        known = None if found is None or found.revoked_at else _known(found, now)
        self._cache_it(name, known)
        return known

    def _cached(self, name: str) -> Known | None:
        with suppress(QueueUnavailable, msgspec.DecodeError):
            body = self._cache.api_key(name)
            return msgspec.json.decode(body, type=Known) if body else None
        return None

    def _cache_it(self, name: str, known: Known | None) -> None:
        with suppress(QueueUnavailable):
            if known is None:
                self._cache.forget_api_key(name)
            else:
                self._cache.put_api_key(name, msgspec.json.encode(known), KEPT)


def _known(key: ApiKey, now: datetime) -> Known:
    return Known(key.tenant, str(key.key_id), key.role, now, key.expires_at)
