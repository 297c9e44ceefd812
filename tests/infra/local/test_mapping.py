"""The stand-in for Lambda's Kafka mapping: each record is settled, and a bad one stops none."""

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from infra.local import mapping
from infra.local.mapping import Mapped, Mapping, mapped
from lamplighter.adapters.memory.bus import MemoryBus
from lamplighter.contracts.dead_letters import read_dead_letter
from lamplighter.contracts.msk import answer, decode_event
from lamplighter.contracts.topics import DEAD_LETTERS
from lamplighter.ports.bus import Message, Record, Topic

PATIENCE = 10.0
TOPIC = Topic("things", partitions=4, keyed_by="nothing")


@pytest.fixture(autouse=True)
def _no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mapping, "_PAUSE_SECONDS", 0.01)


@pytest.fixture
def bus() -> MemoryBus:
    bus = MemoryBus()
    bus.ensure_topics([TOPIC, DEAD_LETTERS])
    return bus


class Function:
    """A handler that notes what it got, and does with each value what the test says."""

    def __init__(self, act: Callable[[bytes], bool]) -> None:
        self._act = act
        self.seen: list[bytes] = []
        self.calls: list[list[Record]] = []
        self.changed = threading.Condition()

    def __call__(self, event: dict[str, Any], context: Any) -> dict[str, Any]:
        assert context.get_remaining_time_in_millis() > 0
        records = decode_event(event)
        failed = []
        with self.changed:
            self.calls.append(records)
        for record in records:
            if not self._act(record.value):
                failed.append(record)
                continue
            with self.changed:
                self.seen.append(record.value)
                self.changed.notify_all()
        return answer(failed)

    def saw(self, *values: bytes) -> None:
        with self.changed:
            assert self.changed.wait_for(lambda: set(values) <= set(self.seen), PATIENCE), self.seen


@contextmanager
def serving(bus: MemoryBus, function: Function, *, apart: bool = False) -> Iterator[Mapping]:
    served = Mapping(Mapped("f", "g", (TOPIC.name,), apart=apart), bus, function)
    thread = threading.Thread(target=served.serve, args=[PATIENCE])
    thread.start()
    try:
        yield served
    finally:
        served.stop()
        thread.join(PATIENCE)
        assert not thread.is_alive()


def put(bus: MemoryBus, *values: bytes, partition: int = 0) -> None:
    bus.publish([Message(TOPIC.name, value, partition=partition) for value in values])


def unsettled(bus: MemoryBus) -> int:
    return sum(bus.lags("g", [TOPIC.name]).values())


def letters(bus: MemoryBus) -> list[bytes]:
    return [read_dead_letter(each).value for each in bus.logs[DEAD_LETTERS.name, 0]]


def test_what_is_handled_is_committed(bus: MemoryBus) -> None:
    function = Function(lambda _: True)
    put(bus, b"one", b"two")

    with serving(bus, function):
        function.saw(b"one", b"two")

    assert unsettled(bus) == 0
    assert Counter(function.seen) == {b"one": 1, b"two": 1}


def test_after_a_large_batch_the_next_is_waited_for(
    bus: MemoryBus, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mapping, "_MUCH", len(b"onetwothree"))
    monkeypatch.setattr(mapping, "_TOGETHER", 0.5)
    function = Function(lambda _: True)
    put(bus, b"one", b"two", b"three")

    with serving(bus, function):
        function.saw(b"one", b"two", b"three")
        for value in (b"4", b"5", b"6", b"7"):
            put(bus, value)
        function.saw(b"7")

    assert [len(records) for records in function.calls] == [3, 4]


def test_what_failed_comes_again_and_with_it_what_was_behind(bus: MemoryBus) -> None:
    tries: Counter[bytes] = Counter()

    def fail_twice(value: bytes) -> bool:
        tries[value] += 1
        return value != b"two" or tries[value] > 2

    function = Function(fail_twice)
    put(bus, b"one", b"two", b"three")

    with serving(bus, function):
        function.saw(b"one", b"two", b"three")

    assert (tries[b"one"], tries[b"two"]) == (1, 3)
    assert unsettled(bus) == 0
    assert letters(bus) == []


def test_a_record_that_breaks_the_function_becomes_a_dead_letter_and_no_other_does(
    bus: MemoryBus,
) -> None:
    def break_on_poison(value: bytes) -> bool:
        if value == b"poison":
            raise RuntimeError("cannot stand it")
        return True

    function = Function(break_on_poison)
    put(bus, b"a", b"b", b"poison", b"c")
    put(bus, b"d", partition=1)

    with serving(bus, function):
        function.saw(b"a", b"b", b"c", b"d")

    assert letters(bus) == [b"poison"]
    assert unsettled(bus) == 0


def test_a_moment_s_trouble_makes_no_dead_letter(bus: MemoryBus) -> None:
    tries = iter([RuntimeError("once")])

    def break_once(_: bytes) -> bool:
        for problem in tries:
            raise problem
        return True

    function = Function(break_once)
    put(bus, b"one")

    with serving(bus, function):
        function.saw(b"one")

    assert letters(bus) == []


def test_apart_a_slow_partition_holds_up_no_other(bus: MemoryBus) -> None:
    release = threading.Event()

    def wait_on_slow(value: bytes) -> bool:
        return value != b"slow" or release.wait(PATIENCE)

    function = Function(wait_on_slow)
    put(bus, b"slow", partition=0)

    with serving(bus, function, apart=True):
        put(bus, b"quick", partition=1)
        function.saw(b"quick")
        seen_meanwhile = list(function.seen)
        release.set()
        function.saw(b"slow")

    assert seen_meanwhile == [b"quick"]
    assert all(len({record.place for record in call}) == 1 for call in function.calls)
    assert unsettled(bus) == 0


def test_a_function_that_exits_ends_the_mapping_and_its_batch_goes_to_the_next(
    bus: MemoryBus,
) -> None:
    def leave(_: bytes) -> bool:
        raise SystemExit("worn out")

    put(bus, b"one")
    leaving = Mapping(Mapped("f", "g", (TOPIC.name,), apart=True), bus, Function(leave))
    leaving.serve(PATIENCE)  # returns, though nobody has told it to

    function = Function(lambda _: True)
    with serving(bus, function, apart=True):
        function.saw(b"one")

    assert (unsettled(bus), letters(bus)) == (0, [])


def test_every_function_reads_topics_that_exist() -> None:
    from lamplighter.contracts.topics import all_topics

    known = {topic.name for topic in all_topics(["default", "tasks"])}

    for function in ("executor", "recorder", "resolver"):
        assert set(mapped(function, "default").topics) <= known


def test_the_busiest_topic_has_a_reader_of_its_own_and_none_is_left_out() -> None:
    reads = mapped("recorder", "default")

    first, rest = reads.readers()

    assert first.topics == ("job-events",)
    assert {*first.topics, *rest.topics} == set(reads.topics)
    assert reads.readers(2) == [first]
    assert mapped("resolver", "default").readers() == [mapped("resolver", "default")]
