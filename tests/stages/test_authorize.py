"""What the cache says of a key is believed for a moment, and never from the future."""

from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from lamplighter.adapters.memory.cache import MemoryCache
from lamplighter.contracts.authorizer import Known
from lamplighter.domain.api_key import Role, digest, new_key
from lamplighter.stages.authorize import FRESH, KEPT, Authorizer
from lamplighter.stages.reach import Reach

NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)


class NoKeys:
    def __init__(self) -> None:
        self.asked = 0

    def find(self, _digest: bytes) -> None:
        self.asked += 1


@pytest.mark.parametrize(
    ("ago", "believed"),
    [
        (timedelta(seconds=1), True),
        (-timedelta(seconds=1), True),  # clocks differ a little
        (FRESH, False),
        (-timedelta(days=1), False),
    ],
)
def test_the_cache_is_believed_for_a_moment_and_never_from_the_future(
    ago: timedelta, *, believed: bool
) -> None:
    key, keys, cache = new_key(), NoKeys(), MemoryCache()
    known = Known("acme", "1", Role.ADMIN, checked_at=NOON - ago)
    cache.put_api_key(digest(key).hex(), msgspec.json.encode(known), KEPT)

    found = Authorizer(keys, cache, Reach(), lambda: NOON).who(key)  # type: ignore[arg-type]

    assert (found is not None, keys.asked) == (believed, 0 if believed else 1)
