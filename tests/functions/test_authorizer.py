"""The authorizer: whose key it is, for how long that is believed, and who is asked meanwhile."""

import inspect
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest

from functions.authorizer import handler as authorizer
from infra.local.postgres import Postgres
from infra.local.valkey import Valkey
from lamplighter import wiring
from lamplighter.adapters.postgres.migrate import migrate
from lamplighter.contracts.keyring import AddKey, RevokeKey
from lamplighter.domain.api_key import ApiKey, Role, digest, looks_like_key, new_key
from lamplighter.domain.errors import LedgerUnavailable
from lamplighter.ports.queue import QueueUnavailable
from lamplighter.stages.authorize import FRESH, KEPT, MOST_STALE, Authorizer
from lamplighter.stages.reach import Reach
from tests.functions.calling import recorded

KEY = "lamp_5f0Jm3mVJ1vY8cXqk2sTn7RwLzB4hGdE9aUoPiQyCx0"
NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)


@pytest.fixture(scope="module")
def database(postgres_server: Postgres) -> str:
    url = postgres_server.ensure_database(f"keys{uuid4().hex}")
    migrate(url, days_ahead=0)
    return url


@pytest.fixture
def cell(
    database: str, valkey_server: Valkey, monkeypatch: pytest.MonkeyPatch
) -> Iterator[pytest.MonkeyPatch]:
    """Real stores, wired as on Lambda: by the environment alone."""
    monkeypatch.setenv("LAMPLIGHTER_DATABASE_URL", database)
    monkeypatch.setenv("LAMPLIGHTER_VALKEY_URL", valkey_server.url)
    monkeypatch.setenv("LAMPLIGHTER_CELL", f"c{uuid4().hex[:12]}")
    wiring.forget()
    yield monkeypatch
    wiring.api_keys().close()
    wiring.forget()


def add(key: str, tenant: str = "acme", seconds: float | None = None) -> ApiKey:
    [made] = wiring.keyring().obey(
        AddKey(digest(key), "ci", tenant, Role.SUBMITTER, lifetime_seconds=seconds)
    )
    return made


class World:
    """An authorizer whose clock is wound, and whose stores can be out of reach."""

    def __init__(self) -> None:
        self.now = NOON
        self.is_ledger_away = self.is_cache_away = False
        self.asked = 0
        self.authorizer = self.another()

    def another(self) -> Authorizer:
        """In a process of its own: it remembers nothing."""
        reach = Reach(rest=0.0)
        return Authorizer(self, self, reach, lambda: self.now)  # type: ignore[arg-type]

    def find(self, hashed: bytes) -> ApiKey | None:
        self.asked += 1
        if self.is_ledger_away:
            raise LedgerUnavailable("away")
        return wiring.api_keys().find(hashed)

    def api_key(self, name: str) -> bytes | None:
        body: bytes | None = self._cache().api_key(name)
        return body

    def put_api_key(self, name: str, body: bytes, ttl: timedelta) -> None:
        self._cache().put_api_key(name, body, ttl)

    def forget_api_key(self, name: str) -> None:
        self._cache().forget_api_key(name)

    def _cache(self) -> Any:
        if self.is_cache_away:
            raise QueueUnavailable("away")
        return wiring.cache()


@pytest.fixture
def world(cell: pytest.MonkeyPatch) -> World:
    return World()


@pytest.mark.usefixtures("cell")
def test_the_recorded_requests_are_answered_as_the_gateway_wants_it() -> None:
    made = add(KEY)

    assert authorizer.handler(recorded("authorizer"), None) == {
        "isAuthorized": True,
        "context": {"tenant": "acme", "key_id": str(made.key_id), "role": "submitter"},
    }
    assert authorizer.handler(recorded("authorizer_unknown"), None) == {"isAuthorized": False}


@pytest.mark.usefixtures("cell")
@pytest.mark.parametrize(
    "changed",
    [
        {"headers": {"Authorization": KEY}},
        {"headers": {"authorization": f"bearer  {KEY} "}},
        {"headers": {}, "identitySource": [KEY]},
        {"headers": None, "identitySource": [f"Bearer {KEY}"]},
    ],
)
def test_a_key_is_found_wherever_the_gateway_puts_it(changed: dict[str, Any]) -> None:
    wiring.api_keys().find(digest(KEY)) or add(KEY)

    assert authorizer.handler(recorded("authorizer") | changed, None)["isAuthorized"]


@pytest.mark.usefixtures("cell")
@pytest.mark.parametrize("text", ["", "lamp_", KEY[:-1], f"{KEY}x", f"{KEY} {KEY}", "é" * 48])
def test_what_is_no_key_costs_no_look_up(cell: pytest.MonkeyPatch, text: str) -> None:
    cell.setattr(wiring, "authorizer", lambda: Authorizer(None, None, None, None))  # type: ignore[arg-type]
    event = recorded("authorizer") | {"headers": {}, "identitySource": [text]}

    assert authorizer.handler(event, None) == {"isAuthorized": False}


def test_a_key_is_looked_up_once_in_a_while(world: World) -> None:
    key = new_key()
    add(key)

    for _ in range(3):
        found = world.authorizer.who(key)
        assert found is not None
        assert found.tenant == "acme"
    assert world.asked == 1
    assert world.another().who(key)
    assert world.asked == 1  # it was in the cache

    world.now += FRESH
    assert world.authorizer.who(key)
    assert world.asked == 2


def test_an_unknown_key_is_looked_up_once_in_a_while_too(world: World) -> None:
    key = new_key()

    assert world.authorizer.who(key) is None
    assert world.authorizer.who(key) is None

    assert world.asked == 1


def test_a_revoked_key_dies_within_the_minute(world: World) -> None:
    key = new_key()
    made = add(key)
    assert world.authorizer.who(key)
    world.now += FRESH - timedelta(seconds=1)
    other = world.another()
    assert other.who(key)

    wiring.keyring().obey(RevokeKey(made.key_id))

    assert world.another().who(key) is None  # the cache was told
    world.now += MOST_STALE - FRESH
    assert (world.authorizer.who(key), other.who(key)) == (None, None)


def test_a_revocation_that_the_cache_missed_counts_all_the_same(world: World) -> None:
    key = new_key()
    made = add(key)
    world.authorizer.who(key)

    wiring.api_keys().revoke(made.key_id)

    world.now += FRESH
    assert world.another().who(key) is None
    world.is_ledger_away = True
    with pytest.raises(LedgerUnavailable):  # nor does it come back with an outage
        world.another().who(key)


def test_a_key_ends_when_it_was_to_end_whatever_is_remembered(world: World) -> None:
    key = new_key()
    made = add(key, seconds=3600)
    assert made.expires_at is not None
    world.now = made.expires_at - timedelta(seconds=1)
    assert world.authorizer.who(key)

    world.now += timedelta(seconds=1)

    assert world.authorizer.who(key) is None
    world.is_ledger_away = True
    assert world.another().who(key) is None


def test_without_the_ledger_keys_are_known_from_the_cache(world: World) -> None:
    key, stranger = new_key(), new_key()
    add(key)
    world.authorizer.who(key)
    world.is_ledger_away = True
    world.now += KEPT - timedelta(hours=1)

    found = world.another().who(key)

    assert found is not None
    assert found.tenant == "acme"
    with pytest.raises(LedgerUnavailable):
        world.authorizer.who(stranger)


def test_without_the_cache_keys_are_known_from_the_ledger(world: World) -> None:
    key = new_key()
    add(key)
    world.is_cache_away = True

    assert world.authorizer.who(key)
    world.is_ledger_away = True
    with pytest.raises(LedgerUnavailable):
        world.another().who(key)


def test_what_the_cache_cannot_mean_is_asked_of_the_ledger(world: World) -> None:
    key = new_key()
    add(key)
    wiring.cache().put_api_key(digest(key).hex(), b"{", KEPT)

    assert world.authorizer.who(key)


def test_somebody_who_tries_keys_fills_no_process(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lamplighter.stages.authorize._MOST", 5)

    for _ in range(12):
        world.authorizer.who(new_key())

    assert len(world.authorizer._remembered) <= 5


def test_a_key_is_long_its_hash_is_kept_and_the_handler_is_short() -> None:
    assert looks_like_key(new_key())
    assert new_key() != new_key()
    assert len(digest(KEY)) == 32
    assert len(inspect.getsource(authorizer).splitlines()) < 40


@pytest.mark.usefixtures("cell")
def test_keys_are_made_listed_and_revoked_by_way_of_the_function() -> None:
    key = new_key()
    order = {"do": "add", "digest": _base64(digest(key)), "name": "ci", "tenant": "t1"}

    [made] = authorizer.handler({"keys": order}, None)["keys"]
    [listed] = authorizer.handler({"keys": {"do": "list", "tenant": "t1"}}, None)["keys"]
    revoke = {"do": "revoke", "key_id": made["key_id"]}

    assert listed == made
    assert (made["name"], made["role"]) == ("ci", "submitter")
    assert key not in str(made)
    assert authorizer.handler({"keys": revoke}, None) == {"keys": []}
    assert wiring.api_keys().list("t1")[0].revoked_at is not None
    assert wiring.api_keys().list("t2") == []
    assert UUID(made["key_id"]) in {each.key_id for each in wiring.api_keys().list()}


def _base64(data: bytes) -> str:
    import base64

    return base64.b64encode(data).decode()
