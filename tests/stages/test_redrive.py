"""Dead letters go back to where they came from, and no letter is lost on the way."""

from collections.abc import Iterator, Sequence
from contextlib import closing

import pytest
import valkey

from lamplighter.adapters.kafka.bus import KafkaBus
from lamplighter.adapters.kafka.config import KafkaAccess
from lamplighter.adapters.memory.bus import MemoryBus
from lamplighter.adapters.streams.bus import StreamsBus
from lamplighter.contracts.dead_letters import dead_letter
from lamplighter.contracts.topics import DEAD_LETTERS, JOB_EVENTS, JOB_REQUESTS
from lamplighter.ports.bus import Bus, Message, Record, Topic
from lamplighter.stages.redrive import BATCH, GROUP, Fate, dead_letters, redrive

TOPICS = [DEAD_LETTERS, JOB_EVENTS, JOB_REQUESTS]
PATIENCE = 15.0
ONLOOKER = "onlooker"


@pytest.fixture
def bus() -> MemoryBus:
    made = MemoryBus()
    made.ensure_topics(TOPICS)
    return made


def _die(bus: Bus, *values: str, topic: str = JOB_EVENTS.name) -> None:
    records = [Record(topic, 0, 0, b"key", value.encode(), 0) for value in values]
    bus.publish([dead_letter(record, "broken", "recorder") for record in records])


def _arrived(bus: Bus, topic: Topic) -> list[str]:
    """What came to a topic since somebody looked last."""
    return [record.value.decode() for record in _read_all(bus, ONLOOKER, topic)]


def _read_all(bus: Bus, group: str, topic: Topic) -> list[Record]:
    wanted = sum(bus.lags(group, [topic.name]).values())
    found: list[Record] = []
    if wanted:
        with closing(bus.consumer(group, [topic.name])) as consumer:
            while len(found) < wanted:
                batch = consumer.poll(100, PATIENCE)
                assert batch, f"{len(found)} of {wanted} came"
                consumer.commit(batch)
                found += batch
    return found


def _dead(bus: Bus) -> list[str]:
    return [letter.value.decode() for letter in dead_letters(bus, patience=PATIENCE)]


def _fates(bus: Bus, topic: str | None = None, limit: int | None = None) -> list[tuple[str, Fate]]:
    done = redrive(bus, topic, limit, PATIENCE)
    return [(each.letter.value.decode(), each.fate) for each in done]


def test_every_letter_goes_back_with_its_key(bus: MemoryBus) -> None:
    _die(bus, "a", "b")
    _die(bus, "c", topic=JOB_REQUESTS.name)

    fates = _fates(bus)

    assert fates == [(name, Fate.RETURNED) for name in "abc"]
    assert (_arrived(bus, JOB_EVENTS), _arrived(bus, JOB_REQUESTS)) == (["a", "b"], ["c"])
    assert _dead(bus) == []


def test_with_a_topic_the_others_stay_dead(bus: MemoryBus) -> None:
    _die(bus, "a")
    _die(bus, "b", topic=JOB_REQUESTS.name)
    _die(bus, "c")

    fates = _fates(bus, topic=JOB_EVENTS.name)

    assert fates == [("a", Fate.RETURNED), ("b", Fate.STAYED), ("c", Fate.RETURNED)]
    assert _arrived(bus, JOB_REQUESTS) == []
    assert _dead(bus) == ["b"]


def test_with_a_limit_the_oldest_go_and_the_rest_stays_where_it_is(bus: MemoryBus) -> None:
    _die(bus, "a")
    _die(bus, "other", topic=JOB_REQUESTS.name)
    _die(bus, "b", "c", "d")

    fates = _fates(bus, topic=JOB_EVENTS.name, limit=2)

    assert fates == [("a", Fate.RETURNED), ("other", Fate.STAYED), ("b", Fate.RETURNED)]
    assert _dead(bus) == ["c", "d", "other"]


def test_more_letters_than_one_batch_all_go(bus: MemoryBus) -> None:
    names = [str(number) for number in range(2 * BATCH + 5)]
    _die(bus, *names)

    assert len(_fates(bus, limit=BATCH)) == BATCH
    assert len(_fates(bus)) == BATCH + 5
    assert sorted(_arrived(bus, JOB_EVENTS)) == sorted(names)


def test_looking_changes_nothing(bus: MemoryBus) -> None:
    names = [str(number) for number in range(2 * BATCH + 5)]
    _die(bus, *names)

    assert _dead(bus) == names
    assert _dead(bus) == names
    assert len(list(dead_letters(bus, limit=3))) == 3
    assert sum(bus.lags(GROUP, [DEAD_LETTERS.name]).values()) == len(names)


def test_what_cannot_go_back_stays_and_holds_nothing_up(bus: MemoryBus) -> None:
    bus.publish([Message(DEAD_LETTERS.name, b"foreign")])
    _die(bus, "homeless", topic="no-such-topic")
    _die(bus, "a")

    fates = _fates(bus)

    stuck = [("foreign", Fate.STUCK), ("homeless", Fate.STUCK)]
    assert fates == [*stuck, ("a", Fate.RETURNED)]
    assert _dead(bus) == ["foreign", "homeless"]


def test_without_letters_there_is_nothing_to_wait_for(bus: MemoryBus) -> None:
    assert list(redrive(bus, patience=3600)) == []


class Crashing(MemoryBus):
    """A process that dies right after it published, before it could commit."""

    def publish(self, batch: Sequence[Message]) -> None:
        super().publish(batch)
        if batch and batch[0].topic == JOB_EVENTS.name:
            raise KeyboardInterrupt


def test_a_crash_before_the_commit_returns_a_letter_twice_and_loses_none() -> None:
    bus = Crashing()
    bus.ensure_topics(TOPICS)
    _die(bus, "a")

    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            list(redrive(bus))

    assert _arrived(bus, JOB_EVENTS) == ["a", "a"]
    assert _dead(bus) == ["a"]


def test_a_letter_that_moved_still_says_when_it_died(bus: MemoryBus) -> None:
    _die(bus, "a", topic=JOB_REQUESTS.name)
    [before] = dead_letters(bus)

    _fates(bus, topic=JOB_EVENTS.name)

    [after] = dead_letters(bus)
    assert after == before


@pytest.fixture(params=["streams", pytest.param("kafka", marks=pytest.mark.kafka)])
def real_bus(request: pytest.FixtureRequest) -> Iterator[Bus]:
    """Without what other tests have left on the server."""
    if request.param == "streams":
        # A database of its own. What is left in theirs may go while it is read: their groups are
        # done with it, and this one is news to the server.
        own = request.getfixturevalue("valkey_server").url.removesuffix("/0") + "/9"
        with closing(valkey.Valkey.from_url(own)) as server:
            server.flushdb()
        made: Bus = StreamsBus(own)
        made.ensure_topics(TOPICS)
    else:
        made = KafkaBus(KafkaAccess(request.getfixturevalue("kafka_server").url))
        made.ensure_topics(TOPICS)
        _read_all(made, GROUP, DEAD_LETTERS)
        _read_all(made, ONLOOKER, JOB_EVENTS)
    yield made
    made.close()


def test_letters_go_back_over_a_real_bus(real_bus: Bus) -> None:
    _die(real_bus, "a", "b", "c")
    _die(real_bus, "d", topic=JOB_REQUESTS.name)

    assert _dead(real_bus) == ["a", "b", "c", "d"]
    fates = _fates(real_bus, topic=JOB_EVENTS.name, limit=2)

    assert fates == [("a", Fate.RETURNED), ("b", Fate.RETURNED)]
    assert _arrived(real_bus, JOB_EVENTS) == ["a", "b"]
    assert _dead(real_bus) == ["c", "d"]


def test_looking_reads_on_without_a_commit_over_a_real_bus(real_bus: Bus) -> None:
    """More letters than a poll gives out: each is met once, and all of them again."""
    names = [str(number) for number in range(2 * BATCH + 5)]
    _die(real_bus, *names)

    assert _dead(real_bus) == names
    assert _dead(real_bus) == names
