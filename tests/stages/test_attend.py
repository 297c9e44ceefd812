"""A long-lived worker: it claims, commits, then runs; a long run holds up nothing."""

import threading
import time
from collections.abc import Iterator, Sequence
from datetime import timedelta

import pytest

from lamplighter.adapters.memory.bus import MemoryConsumer
from lamplighter.contracts.messages import JobEvent, RunMessage, encode
from lamplighter.contracts.topics import DEAD_LETTERS, job_runs_topics
from lamplighter.domain.run import Outcome, Recorded, Verdict
from lamplighter.domain.states import RunState
from lamplighter.ports.bus import BusUnavailable, Message, Record
from lamplighter.ports.target import Context
from lamplighter.stages.attend import Worker
from tests.stages.working import Workplace

PATIENCE = 10.0
TOPIC = job_runs_topics("tasks")[1].name


class Attending(Workplace):
    def __init__(self) -> None:
        super().__init__(places=2)
        self.consumer = self.reader()
        self.release = threading.Event()
        self.started = threading.Event()
        self.does("slow", self._wait)
        self.does("good", lambda _: "done")
        self.worker = Worker(self.bus, self.consumer, self.runner, self.work())
        self.thread = threading.Thread(target=self.worker.attend, args=[PATIENCE])

    def reader(self) -> MemoryConsumer:
        names = [topic.name for topic in job_runs_topics("tasks")]
        return self.bus.consumer("executor.tasks", names)

    def _wait(self, _: Context) -> None:
        self.started.set()
        assert self.release.wait(PATIENCE)

    def put(self, *messages: RunMessage) -> None:
        self.bus.publish([Message(TOPIC, encode(each), partition=0) for each in messages])

    def unsettled(self) -> int:
        return self.bus.lags("executor.tasks", [TOPIC])[TOPIC, 0]

    def ended(self, count: int, seconds: float = PATIENCE) -> set[str]:
        """Runs that were reported, by their jobs' names; bounded."""
        found = self._endings(count, seconds)
        return {self.ledger.job("default", event.job_id).name for event in found}

    def outcomes(self, count: int) -> list[Outcome]:
        return [each.outcome for each in self._endings(count, PATIENCE) if each.outcome]

    def _endings(self, count: int, seconds: float) -> list[JobEvent]:
        found: list[JobEvent] = []
        end = time.monotonic() + seconds
        while len(found) < count and time.monotonic() < end:
            found += [event for event in self.told() if event.outcome is not None]
        return found


@pytest.fixture
def place() -> Iterator[Attending]:
    place = Attending()
    place.thread.start()
    yield place
    place.release.set()
    place.worker.stop()
    place.thread.join(PATIENCE)
    assert not place.thread.is_alive()


def test_a_long_run_holds_no_partition(place: Attending) -> None:
    place.put(*place.due("slow", pool="tasks"))
    assert place.started.wait(PATIENCE)

    place.put(*place.due("good", pool="tasks"))

    assert place.ended(1) == {"good"}
    assert place.unsettled() == 0


def test_what_cannot_be_read_is_put_aside(place: Attending) -> None:
    place.bus.publish([Message(TOPIC, b"not a run", partition=0)])

    place.put(*place.due("good", pool="tasks"))

    assert place.ended(1) == {"good"}
    [letter] = place.bus.logs[DEAD_LETTERS.name, 0]
    assert letter.value == b"not a run"


def test_a_dead_letter_that_cannot_be_kept_is_tried_again_and_kills_no_worker(
    place: Attending,
) -> None:
    place.bus.buries = False
    place.bus.publish([Message(TOPIC, b"not a run", partition=0)])
    place.put(*place.due("good", pool="tasks"))
    assert place.ended(1, seconds=1.0) == set()

    place.bus.buries = True

    assert place.ended(1) == {"good"}
    assert place.bus.logs[DEAD_LETTERS.name, 0]


def test_without_the_ledger_a_run_waits_and_is_claimed_when_it_is_back(place: Attending) -> None:
    place.ledger.away = True
    [message] = place.due("good", pool="tasks")
    place.put(message)
    assert place.ledger.run("default", message.run_id).state is RunState.SCHEDULED

    place.ledger.away = False

    assert place.ended(1) == {"good"}


def test_past_saving_it_ends_by_itself_and_another_takes_its_place(place: Attending) -> None:
    place.runner.close()
    place.thread.join(PATIENCE)

    place.put(*place.due("good"))

    assert not place.thread.is_alive()
    assert place.unsettled() == 1


def test_told_to_stop_it_lets_what_runs_come_to_its_end(place: Attending) -> None:
    place.put(*place.due("slow", pool="tasks"))
    assert place.started.wait(PATIENCE)

    place.worker.stop()
    place.release.set()

    assert place.ended(1) == {"slow"}
    place.thread.join(PATIENCE)
    assert not place.thread.is_alive()


def test_while_what_runs_comes_to_its_end_others_have_its_partitions(place: Attending) -> None:
    place.put(*place.due("slow", pool="tasks"))
    assert place.started.wait(PATIENCE)
    place.worker.stop()
    other = place.reader()

    place.put(*place.due("good", pool="tasks"))

    assert len(other.poll(1, PATIENCE)) == 1
    assert place.thread.is_alive()


def test_a_commit_that_failed_leaves_no_partition_quiet(
    place: Attending, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit, failed = place.consumer.commit, threading.Event()

    def fail_once(records: Sequence[Record]) -> None:
        if not failed.is_set():
            failed.set()
            raise BusUnavailable("the coordinator is moving")
        commit(records)

    monkeypatch.setattr(place.consumer, "commit", fail_once)
    place.put(*place.due("slow", pool="tasks"))
    assert failed.wait(PATIENCE)

    place.put(*place.due("good", pool="tasks"))

    assert place.ended(1) == {"good"}


def test_a_run_that_comes_back_to_its_own_worker_ends_by_its_new_fence(place: Attending) -> None:
    """It was silent for a while, was taken for dead, and is the only worker there is."""
    [message] = place.due("slow", pool="tasks", max_retries=0)
    place.put(message)
    assert place.started.wait(PATIENCE)
    [lost] = place.ledger.requeue_lost(timedelta(0))
    assert lost.run is not None
    place.started.clear()

    place.put(RunMessage(message.run_id, lost.run.fence, 5, "tasks"))
    assert place.started.wait(PATIENCE)
    place.release.set()
    ends = place.outcomes(2)

    assert {each.fence: each.verdict for each in ends} == {
        1: Verdict.CANCELLED,
        lost.run.fence + 1: Verdict.SUCCESS,
    }
    assert [each.recorded for each in place.ledger.finish(ends)].count(Recorded.ACCEPTED) == 1
    assert place.ledger.run("default", message.run_id).state is RunState.SUCCESS


def test_a_group_that_cannot_be_left_keeps_nobody_from_coming_to_an_end(
    place: Attending, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away() -> None:
        raise BusUnavailable("away")

    place.put(*place.due("slow", pool="tasks"))
    assert place.started.wait(PATIENCE)
    monkeypatch.setattr(place.consumer, "close", away)
    place.worker.stop()
    place.release.set()

    assert place.ended(1) == {"slow"}
    place.thread.join(PATIENCE)
    assert not place.thread.is_alive()
