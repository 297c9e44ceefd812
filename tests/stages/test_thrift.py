"""Thrifty watchers over parts in memory: who touches the ledger, and what nobody sleeps over."""

import threading
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

import pytest

from lamplighter.adapters.memory.clock import system_clock
from lamplighter.adapters.memory.ledger import MemoryLedger
from lamplighter.adapters.memory.rest import MemoryRest
from lamplighter.domain.errors import LedgerUnavailable
from lamplighter.domain.run import Due
from lamplighter.domain.states import SkipReason
from lamplighter.ports.bus import Message
from lamplighter.ports.queue import QueueUnavailable
from lamplighter.stages.capacity import Window
from lamplighter.stages.duties import Report
from lamplighter.stages.hint import GATE, Hint
from lamplighter.stages.thrift import LEAD, LONGEST_REST, ThriftyWatcher
from lamplighter.stages.watch import Watcher
from tests.stages.watch_world import Breakable, World, eventually

NO_STORE = QueueUnavailable("away")


class Cell(World):
    """One with thrifty watchers; `ahead` is how far their clock has come, and the ledger's."""

    def __init__(self) -> None:
        super().__init__()
        self.rest = Breakable(MemoryRest(self.queue.wake))
        self.gate = Breakable(MemoryLedger())
        self.let_go = 0

    def now(self) -> Any:
        return system_clock() + self.ahead

    def thrifty(self, holder: str = "w1", ledger: Breakable | None = None) -> ThriftyWatcher:
        seen: Any = ledger or self.seen_ledger
        parts: dict[str, Any] = {"rest": self.rest, "gate": self.gate, "channel": self.seen_queue}
        return ThriftyWatcher(
            seen,
            **parts,
            hire=lambda report, told: self._hire(seen, holder, report, told),
            holder=holder,
            now=self.now,
            let_go=self._let_go,
        )

    def _hire(
        self, ledger: Any, holder: str, report: Report, on_renewal: Callable[[], None]
    ) -> Watcher:
        queue: Any = self.seen_queue
        bus: Any = self.seen_bus
        window = Window(bus, {"default": 100}, every_seconds=0.0)
        return Watcher(
            ledger,
            queue,
            bus,
            holder=holder,
            window=window,
            report=report,
            on_renewal=on_renewal,
        )

    def _let_go(self) -> None:
        self.let_go += 1

    def run_through(self, count: int) -> None:
        """As executor and recorder do: claimed and ended, so that nothing is left to watch over."""
        for message in self.receive(count):
            self.ledger.skip([message.run_id], reason=SkipReason.EXPIRED)
        self.rest.end()


@pytest.fixture
def cell() -> Cell:
    return Cell()


def test_nobody_asks_a_ledger_that_rests(cell: Cell) -> None:
    first = cell.thrifty().watch(20)
    calls = cell.seen_ledger.calls.copy()

    again = cell.thrifty("w2").watch(20)

    assert first.led_epochs == [1]
    assert first.asleep_until is not None
    assert (again.asleep_until, again.led_epochs) == (first.asleep_until, [])
    assert cell.seen_ledger.calls == calls
    assert cell.let_go == 1


def test_housekeeping_is_done_before_anybody_sleeps(cell: Cell) -> None:
    """However slow it is: longer than it takes to see that nothing is due."""
    settle, slow = cell.ledger.settle_overdue, threading.Event()

    def settle_slowly() -> Any:
        slow.wait(0.8)
        return settle()

    cell.ledger.settle_overdue = settle_slowly  # type: ignore[assignment, method-assign]

    cell.thrifty().watch(20)

    calls = cell.seen_ledger.calls
    tended = {"ensure_partitions", "drop_partitions", "forget_before"}
    assert {"settle_overdue", *tended} <= calls.keys()


def test_what_is_due_soon_is_waited_for(cell: Cell) -> None:
    job = cell.submit(1.0)
    report: list[Report] = []
    thread = threading.Thread(target=lambda: report.append(cell.thrifty().watch(20)))
    thread.start()

    cell.run_through(1)

    thread.join(20)
    assert report[0].asleep_until is not None
    assert report[0].published == 1
    assert cell.run(job).state.is_final


def test_a_watcher_comes_in_time_for_what_is_due_later(cell: Cell) -> None:
    job = cell.submit(600.0)
    asleep = cell.thrifty().watch(20)
    assert asleep.asleep_until == cell.run(job).due_at
    cell.ahead = timedelta(seconds=600) - LEAD - timedelta(seconds=5)
    assert not cell.thrifty().watch(20).led_epochs

    cell.ahead += timedelta(seconds=6)

    assert cell.thrifty().watch(1).led_epochs


def test_what_nobody_told_of_is_found_within_the_hour(cell: Cell) -> None:
    cell.thrifty().watch(20)
    lost = cell.submit()  # no word of it, other than to a queue that is read by nobody
    cell.queue.empty()
    cell.ahead = LONGEST_REST - LEAD - timedelta(seconds=10)
    assert not cell.thrifty().watch(20).led_epochs

    cell.ahead += timedelta(seconds=11)

    thread = threading.Thread(target=cell.thrifty().watch, args=[5])
    thread.start()
    cell.run_through(1)
    thread.join(20)
    assert cell.run(lost).state.is_final


def test_what_is_written_in_the_moment_of_lying_down_is_not_slept_over(cell: Cell) -> None:
    """The look is over, and says that nothing is due; the rest has not begun."""
    told: list[Any] = []
    is_any_running = cell.ledger.is_any_running

    def late() -> bool:
        answer = is_any_running()
        if cell.rest.calls["consider"] and not told:
            told.append(cell.submit(300.0))
            cell.rest.end()
        return answer

    cell.ledger.is_any_running = late  # type: ignore[method-assign]

    report = cell.thrifty().watch(20)

    assert report.asleep_until == cell.run(told[0]).due_at
    assert len(report.led_epochs) == 2


def test_who_stands_by_asks_the_store_alone(cell: Cell) -> None:
    cell.submit(2.0)
    other = Breakable(cell.ledger)
    reports: list[Report] = []
    leader = threading.Thread(target=lambda: reports.append(cell.thrifty("w1").watch(20)))
    leader.start()
    eventually(lambda: cell.gate.inner.lease(GATE))  # type: ignore[attr-defined]
    standby = threading.Thread(target=lambda: reports.append(cell.thrifty("w2", other).watch(20)))
    standby.start()

    cell.run_through(1)

    leader.join(20)
    standby.join(20)
    assert not other.calls
    assert {report.holder for report in reports} == {"w1", "w2"}
    assert all(report.asleep_until for report in reports)


def test_a_watcher_that_died_is_followed_by_the_next(cell: Cell) -> None:
    gate: Any = cell.gate
    gate.acquire_lease(GATE, "dead", timedelta(seconds=0.5))

    assert cell.thrifty().watch(20).led_epochs == [1]


def test_without_the_store_the_ledger_decides(cell: Cell) -> None:
    cell.thrifty().watch(20)
    job = cell.submit()
    reports: list[Report] = []
    thread = threading.Thread(target=lambda: reports.append(cell.thrifty().watch(3)))
    with cell.rest.away(NO_STORE), cell.gate.away(NO_STORE):
        thread.start()
        cell.receive_all([job])
        thread.join(20)

    assert len(reports[0].led_epochs) == 1
    assert reports[0].asleep_until is None


def test_without_the_ledger_nobody_lies_down(cell: Cell) -> None:
    with cell.seen_ledger.away(LedgerUnavailable("away")):
        report = cell.thrifty().watch(0.5)

    assert report.asleep_until is None
    assert cell.rest.until() is None


def dues(cell: Cell, *seconds: float) -> list[Due]:
    jobs = [cell.submit(each) for each in seconds]
    return [
        Due(run.run_id, run.tenant, run.pool, run.priority, run.due_at, run.fence)
        for run in map(cell.run, jobs)
    ]


class Told:
    """A hint, and what it said to whom."""

    def __init__(self, cell: Cell) -> None:
        self.queue: list[Due] = []
        self.bus: list[Message] = []
        gate: Any = cell.gate
        self.hint = Hint(gate, self, self.bus.extend, system_clock)  # type: ignore[arg-type]

    def add(self, runs: Sequence[Due]) -> None:
        self.queue += runs


def test_what_is_due_goes_to_the_workers_where_nobody_leads(cell: Cell) -> None:
    told, (now, later) = Told(cell), dues(cell, 0.0, 60.0)

    told.hint([now, later])

    assert [message.key for message in told.bus] == [now.run_id.bytes]
    assert told.queue == [later]


def test_where_somebody_leads_everything_goes_to_the_queue(cell: Cell) -> None:
    told, runs = Told(cell), dues(cell, 0.0, 60.0)
    gate: Any = cell.gate
    gate.acquire_lease(GATE, "w1", timedelta(seconds=30))

    told.hint(runs)

    assert (told.bus, told.queue) == ([], runs)


def test_a_herd_waits_for_its_turns(cell: Cell) -> None:
    told, runs = Told(cell), dues(cell, *[0.0] * 101)

    told.hint(runs)

    assert (told.bus, told.queue) == ([], runs)


def test_without_the_store_the_workers_are_told(cell: Cell) -> None:
    told, runs = Told(cell), dues(cell, 0.0)
    with cell.gate.away(NO_STORE):
        told.hint(runs)

    assert len(told.bus) == 1
