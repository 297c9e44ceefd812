"""From the ledger straight to the bus: in order, in time, each once, and never more than fits."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest

from lamplighter.adapters.memory.bus import MemoryBus
from lamplighter.adapters.memory.ledger import MemoryLedger
from lamplighter.contracts.messages import read_run
from lamplighter.contracts.topics import all_topics, job_runs_topics
from lamplighter.domain.job import Job
from lamplighter.domain.policy import ScheduleType
from lamplighter.domain.run import Submission
from lamplighter.domain.schedule import Schedule
from lamplighter.ports.bus import BusUnavailable, Message
from lamplighter.stages import direct
from lamplighter.stages.capacity import Window, executor_group
from lamplighter.stages.direct import Direct

SECOND = timedelta(seconds=1)


class Road:
    """A ledger and a bus, a clock that is wound by hand, and an executor that reads along."""

    def __init__(self, places: int = 100) -> None:
        self.bus = MemoryBus()
        self.bus.ensure_topics(all_topics(["default", "elsewhere"]))
        self.now = datetime(2026, 3, 2, 12, tzinfo=UTC)
        self.ledger = MemoryLedger(clock=lambda: self.now)
        topics = [topic.name for topic in job_runs_topics("default")]
        self.consumer = self.bus.consumer(executor_group("default"), topics)
        window = Window(self.bus, {"default": places}, every_seconds=0.0)
        self.direct = Direct(self.ledger, self.bus, window)
        self.direct.begin(self.ledger.cursor().watermark)

    def submit(self, seconds: float = 0.0, **fields: Any) -> Job:
        fire = self.now + timedelta(seconds=seconds)
        schedule = Schedule(ScheduleType.FUTURE, fire)
        job = Job(job_id=uuid4(), schedule=schedule, **{"name": "a job", **fields})
        self.ledger.submit([Submission(job, fire)])
        return job

    def turn(self) -> list[str]:
        """One turn of a leader; the names of the jobs whose runs it brought to an executor."""
        while self.direct.find(self.now):
            pass
        self.direct.wake(self.now)
        self.direct.publish(self.now)
        records = self.consumer.poll(1000, 0)
        self.consumer.commit(records)
        runs = [self.ledger.run("default", read_run(each.value).run_id) for each in records]
        return [self.ledger.job("default", run.job_id).name for run in runs]


@pytest.fixture
def road() -> Road:
    return Road()


def test_what_is_due_is_sent_once(road: Road) -> None:
    road.submit()
    assert road.turn() == ["a job"]
    for _ in range(10):
        road.now += SECOND / 2
        assert road.turn() == []


def test_what_was_sent_is_remembered_when_reading_begins_again(road: Road) -> None:
    road.submit()
    assert road.turn() == ["a job"]
    road.direct.begin(road.ledger.cursor().watermark)
    assert road.turn() == []


def test_what_is_not_due_yet_waits(road: Road) -> None:
    road.submit(10)
    assert road.turn() == []
    road.now += 9.7 * SECOND
    assert road.turn() == []
    due = road.direct.next_due(road.now)
    assert due == road.now + 0.3 * SECOND
    road.now = due
    assert road.turn() == ["a job"]


def test_what_is_written_down_behind_the_reader_is_found(road: Road) -> None:
    road.turn()
    fire = road.now - 1.5 * SECOND
    job = Job(job_id=uuid4(), name="late", schedule=Schedule(ScheduleType.FUTURE, fire))
    road.ledger.submit([Submission(job, fire)])
    assert road.turn() == ["late"]


def test_what_nobody_claims_is_sent_again_after_its_wake_up_call(road: Road) -> None:
    road.submit(-10)
    assert road.turn() == ["a job"]
    road.now += 59 * SECOND
    assert road.turn() == []
    road.now += 2 * SECOND
    assert road.turn() == ["a job"]


def test_there_is_never_more_on_the_way_than_fits() -> None:
    road = Road(places=2)
    for n in range(5):
        road.submit(priority=5 - n)
    sent = []
    while turn := road.turn():
        assert len(turn) <= 2
        sent += turn
    assert len(sent) == 5


def test_pages_are_read_to_their_end(road: Road, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(direct, "_PAGE", 2)
    for n in range(7):
        road.submit(-0.001 * n)
    assert len(road.turn()) == 7


def test_a_backlog_is_left_in_the_ledger(road: Road, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(direct, "_PAGE", 2)
    monkeypatch.setattr(direct, "_MOST_PENDING", 4)
    for n in range(7):
        road.submit(-0.001 * n)
    assert [len(road.turn()), len(road.turn())] == [4, 3]


def _crowd(road: Road, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten for a pool that has no place, a little older than one for a pool that has."""
    monkeypatch.setattr(direct, "_PAGE", 2)
    monkeypatch.setattr(direct, "_MOST_PENDING", 4)
    for n in range(10):
        road.submit(-0.1 - 0.001 * n, name=f"{n}", pool="elsewhere")
    road.submit()


def _open_elsewhere(road: Road, places: int) -> None:
    """Now it has places, and someone who reads."""
    windows = {"default": 100, "elsewhere": places}
    road.direct._window = Window(road.bus, windows, every_seconds=0.0)
    topics = [topic.name for topic in job_runs_topics("elsewhere")]
    road.consumer = road.bus.consumer(executor_group("elsewhere"), topics)


def test_a_pool_without_places_holds_up_no_other(
    road: Road, monkeypatch: pytest.MonkeyPatch
) -> None:
    _crowd(road, monkeypatch)
    assert road.turn() == ["a job"]
    road.now += SECOND
    road.submit(name="another")
    assert road.turn() == ["another"]


def test_a_pool_that_was_left_behind_gets_all_of_its_runs_once(
    road: Road, monkeypatch: pytest.MonkeyPatch
) -> None:
    _crowd(road, monkeypatch)
    road.turn()
    _open_elsewhere(road, 3)
    sent = [name for _ in range(5) for name in road.turn()]
    assert sorted(sent) == [f"{n}" for n in range(10)]
    assert sent[0] == "9"


def test_a_pool_that_is_left_behind_and_served_is_not_passed(
    road: Road, monkeypatch: pytest.MonkeyPatch
) -> None:
    _crowd(road, monkeypatch)
    _open_elsewhere(road, 1)
    first = road.now - 0.2 * SECOND
    assert len(road.turn()) == 1
    assert first < road.direct.found_to < road.now - 0.1 * SECOND
    _open_elsewhere(road, 0)
    road.now += 61 * SECOND
    assert road.turn() == []
    assert road.direct.found_to > road.now - 4 * SECOND


def test_what_is_called_for_a_pool_without_places_is_bounded(
    road: Road, monkeypatch: pytest.MonkeyPatch
) -> None:
    _crowd(road, monkeypatch)
    for _ in range(10):
        road.submit(-10, pool="elsewhere")
        road.turn()
    assert len(road.direct._lanes["elsewhere"].runs) == 8


def test_it_remembers_a_bounded_number(road: Road, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(direct, "_MOST_REMEMBERED", 3)
    for n in range(7):
        road.submit(-0.001 * n)
    assert len(road.turn()) == 7
    assert len(road.turn()) == 4


def test_what_the_bus_did_not_take_is_sent_when_it_does(
    road: Road, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: list[Message]) -> None:
        raise BusUnavailable("away")

    road.submit()
    with monkeypatch.context() as patched:
        patched.setattr(road.bus, "publish", refuse)
        with pytest.raises(BusUnavailable):
            road.turn()
    assert road.turn() == ["a job"]


def test_a_pool_without_a_window_gets_nothing(road: Road) -> None:
    road.submit(pool="elsewhere")
    assert road.turn() == []
