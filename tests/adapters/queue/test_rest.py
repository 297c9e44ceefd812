"""The ledger's rest: it begins only where nobody has said otherwise since somebody looked."""

from collections.abc import Callable
from datetime import datetime, timedelta

import pytest

from lamplighter.adapters.memory.rest import MemoryRest
from lamplighter.adapters.valkey.client import Client
from lamplighter.adapters.valkey.queue import ValkeyQueue
from lamplighter.adapters.valkey.rest import ValkeyRest
from lamplighter.domain.ids import epoch_ms, instant_of
from lamplighter.ports.rest import Rest
from lamplighter.stages.clock import this_machine


@pytest.fixture(params=["memory", "valkey", "cluster"])
def rest(request: pytest.FixtureRequest) -> Rest:
    if request.param == "memory":
        return MemoryRest()
    client: Client = request.getfixturevalue(f"{request.param}_client")
    client.ask("FLUSHALL")
    return ValkeyRest(client)


@pytest.fixture
def later() -> datetime:
    return instant_of(epoch_ms(this_machine() + timedelta(minutes=10)))


def test_nobody_knows_anything_at_first(rest: Rest, later: datetime) -> None:
    assert rest.until() is None
    assert not rest.begin("one", later)
    assert rest.until() is None


def test_it_rests_until_then(rest: Rest, later: datetime) -> None:
    rest.consider("one")
    assert rest.until() is None
    assert rest.begin("one", later)
    assert rest.until() == later


def test_who_writes_ends_it(rest: Rest, later: datetime) -> None:
    rest.consider("one")
    rest.begin("one", later)
    rest.end()
    rest.end()
    assert rest.until() is None


def test_what_was_written_since_the_mark_is_not_slept_over(rest: Rest, later: datetime) -> None:
    rest.consider("one")
    rest.end()
    assert not rest.begin("one", later)
    assert rest.until() is None


def test_of_two_who_look_the_later_one_decides(rest: Rest, later: datetime) -> None:
    rest.consider("one")
    rest.consider("other")
    assert not rest.begin("one", later)
    assert rest.begin("other", later)


def test_who_looks_again_ends_it(rest: Rest, later: datetime) -> None:
    rest.consider("one")
    rest.begin("one", later)
    rest.consider("other")
    assert rest.until() is None


def test_a_mark_that_looks_like_a_number_is_no_instant(rest: Rest) -> None:
    rest.consider("1234567890123")
    assert rest.until() is None


def test_a_rest_that_is_over_is_forgotten_by_the_store(valkey_client: Client) -> None:
    rest = ValkeyRest(valkey_client)
    rest.consider("one")
    assert rest.begin("one", this_machine() + timedelta(milliseconds=1))
    until(lambda: valkey_client.ask("EXISTS", valkey_client.key("rest")) == 0)


def test_whoever_sleeps_on_the_channel_hears_that_it_ended(valkey_client: Client) -> None:
    queue = ValkeyQueue(valkey_client)
    while queue.sleep(0.05):
        pass  # the subscription itself
    ValkeyRest(valkey_client).end()
    assert queue.sleep(5.0)
    queue.close()


def until(is_so: Callable[[], bool]) -> None:
    end = this_machine() + timedelta(seconds=5)
    while not is_so():
        assert this_machine() < end
