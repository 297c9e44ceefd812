"""One message breaks its function: it alone is tried again, and put aside in the end."""

from collections.abc import Iterable, Sequence
from typing import Any

import pytest

from lamplighter.contracts.batch import Batch, read_batch
from lamplighter.contracts.dead_letters import read_dead_letter
from lamplighter.contracts.msk import event_of
from lamplighter.ports.bus import BusUnavailable, Message, Record
from lamplighter.stages.spare import TRIES, Spare
from tests.contracts.test_sqs import delivered


class Function:
    """Breaks over `poison`, and names what is `busy` as failed."""

    def __init__(self, problem: Exception | None = None) -> None:
        self.problem = problem or RuntimeError("cannot be done")
        self.handled: list[bytes] = []
        self.buried: list[Message] = []
        self.calls = 0
        self.spared = Spare("recorder", self.handle, bury=self.bury, answer=self.answer)

    def handle(self, event: dict[str, Any], context: object) -> dict[str, Any]:
        assert context == "context"
        self.calls += 1
        batch = read_batch(event)
        if any(each.value == b"poison" for each in batch.records):
            raise self.problem
        self.handled += [each.value for each in batch.records if each.value != b"busy"]
        return self.answer(batch, [each for each in batch.records if each.value == b"busy"])

    def bury(self, letters: Sequence[Message]) -> None:
        self.buried += letters

    def answer(self, batch: Batch, failed: Iterable[Record]) -> dict[str, Any]:
        return batch.answer(failed)


def batch(*values: bytes, receives: int = 1) -> dict[str, Any]:
    return delivered(*[Message("job-events", each) for each in values], receives=receives)


def failed(answer: dict[str, Any]) -> list[str]:
    return [each["itemIdentifier"] for each in answer["batchItemFailures"]]


def test_while_nothing_breaks_nothing_changes() -> None:
    function = Function()
    assert failed(function.spared(batch(b"a", b"busy"), "context")) == ["id-1"]
    assert function.calls == 1


@pytest.mark.parametrize("at", range(5))
def test_the_others_of_its_batch_are_handled_and_it_comes_again(at: int) -> None:
    values = [b"a", b"busy", b"b", b"c"]
    values.insert(at, b"poison")
    function = Function()

    answer = function.spared(batch(*values), "context")

    again = {f"id-{at}", f"id-{values.index(b'busy')}"}
    assert (set(failed(answer)), sorted(function.handled)) == (again, [b"a", b"b", b"c"])
    assert function.buried == []


def test_after_a_few_tries_it_becomes_a_dead_letter() -> None:
    function = Function()

    answer = function.spared(batch(b"a", b"poison", receives=TRIES), "context")

    assert failed(answer) == []
    [message] = function.buried
    record = Record(message.topic, 0, 0, message.key, message.value, 0, message.headers)
    letter = read_dead_letter(record)
    assert (letter.topic, letter.value, letter.function) == ("job-events", b"poison", "recorder")
    assert letter.why == "RuntimeError: cannot be done"


def test_trouble_of_our_own_is_no_fault_of_the_batch() -> None:
    function = Function(BusUnavailable("away"))
    with pytest.raises(BusUnavailable):
        function.spared(batch(b"a", b"poison"), "context")
    assert function.calls == 1


def test_kafka_s_mapping_halves_by_itself() -> None:
    function = Function()
    records = [
        Record("job-events", 0, n, None, each, 0) for n, each in enumerate([b"a", b"poison"])
    ]
    with pytest.raises(RuntimeError):
        function.spared(event_of(records), "context")
    assert function.calls == 1
