"""Work: one caller's runs, from claim to report. Executor and worker are both built on it."""

import logging
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final
from uuid import UUID, uuid4

import msgspec

from lamplighter.contracts.messages import JobEvent, RunMessage, running
from lamplighter.domain.errors import LedgerUnavailable
from lamplighter.domain.ordering import LITTLE
from lamplighter.domain.run import Claimed, Outcome, Refusal, Ticket
from lamplighter.fail_points import FailPoint, fail_point
from lamplighter.ports.ledger import Ledger
from lamplighter.stages.report import Reporter
from lamplighter.stages.run import Runner
from lamplighter.telemetry.logs import keys, listed

if TYPE_CHECKING:
    from lamplighter.stages.trace import Tracer

_log: Final = logging.getLogger("lamplighter.work")


class Doubts:
    """Claims whose answer never came. Granted or not, they are asked again, under the same id.

    A run that was granted and not heard of would stay with a worker that lives and knows nothing.
    """

    def __init__(self) -> None:
        self._claims: list[tuple[UUID, list[Ticket]]] = []

    def add(self, claim_id: UUID, tickets: list[Ticket]) -> None:
        self._claims.append((claim_id, tickets))

    def take(self) -> tuple[UUID, list[Ticket]] | None:
        """One at a time: what is not asked for now must still be here when the ledger is back."""
        try:
            return self._claims.pop(0)
        except IndexError:  # somebody else's batch was quicker, or there are none
            return None


class Begun(msgspec.Struct, frozen=True):
    """What a claim came to. `placed` of the claimed took a place and go on running."""

    claimed: int
    placed: int
    refused: dict[UUID, Refusal]


class Work:
    """One thread claims and begins; the same one or another reports.

    `crowd` is shared by all of a process: so many large batches are claimed at once. More would
    only make each other wait, and a single run with them, which needs no leave.
    """

    def __init__(  # noqa: PLR0913 - its parts, and each knob by its name
        self,
        ledger: Ledger,
        reporter: Reporter,
        runner: Runner,
        *,
        worker_id: str,
        now: Callable[[], datetime],
        doubts: Doubts,
        crowd: threading.Semaphore | None = None,
        sleep: Callable[[float], None] = time.sleep,
        tracer: "Tracer | None" = None,
    ) -> None:
        self._ledger, self._reporter, self._runner = ledger, reporter, runner
        self._worker_id = worker_id
        self._now = now
        self._doubts = doubts
        self._crowd = crowd or threading.Semaphore()
        self._sleep = sleep
        self._tracer = tracer
        self._shift = runner.shift()
        self._lock = threading.Lock()
        # By run and fence: a run that was taken back, or is tried again, may be here a second time
        # before its first attempt is told of.
        self._started: dict[tuple[UUID, int], tuple[JobEvent, UUID]] = {}
        self._claims: dict[UUID, int] = {}

    @property
    def open(self) -> int:
        """Runs that were begun and are not yet reported."""
        return len(self._started)

    def begin(
        self, messages: Sequence[RunMessage], claimed_all: Callable[[], None] = lambda: None
    ) -> Begun:
        """Claim, wait the moment that a claim may be early, and start.

        `claimed_all` is called in between: from there on the ledger knows, and the message may go.
        """
        self._now()  # a clock that cannot be read yet says so while nothing is claimed
        while (doubt := self._doubts.take()) is not None:
            self._begin(*doubt, lambda: None)
        return self._begin(uuid4(), [message.ticket() for message in messages], claimed_all)

    def report(self, seconds: float | None) -> int:
        """Wait so long for a handful of runs to end, and tell of them. How many."""
        outcomes = self._shift.wait(seconds)
        if outcomes:
            self._report(outcomes, [])
        return len(outcomes)

    def _begin(
        self, claim_id: UUID, tickets: list[Ticket], claimed_all: Callable[[], None]
    ) -> Begun:
        began = datetime.now(UTC)
        try:
            with nullcontext() if len(tickets) <= LITTLE else self._crowd:
                answer = self._ledger.claim(self._worker_id, claim_id, tickets)
        except LedgerUnavailable:
            self._doubts.add(claim_id, tickets)
            raise
        fail_point(FailPoint.CLAIM_GRANTED)
        self._runner.cancel(answer.cancelled)
        claimed_all()
        claimed = self._tell_of(answer.claimed, claim_id, began)
        placed = self._start(claim_id, claimed) if claimed else 0
        if answer.ended:
            fail_point(FailPoint.CLAIM_SETTLED)
        self._reporter.settled(answer.ended)
        return Begun(len(answer.claimed), placed, answer.refused)

    def _tell_of(
        self, claimed: Sequence[Claimed], claim_id: UUID, began: datetime
    ) -> Sequence[Claimed]:
        """In the log, and in traces; what is traced is told so, for its target to know."""
        if not claimed:
            return claimed
        told = keys(
            worker_id=self._worker_id,
            claim_id=claim_id,
            runs=len(claimed),
            run_ids=listed(_log, (run.run_id for run in claimed)),
        )
        _log.info("runs claimed", extra=told)
        tracer = self._tracer
        if tracer is None:
            return claimed
        tracer.claimed(claimed, began)
        return [
            msgspec.structs.replace(run, traceparent=tracer.traceparent(run)) for run in claimed
        ]

    def _start(self, claim_id: UUID, claimed: Sequence[Claimed]) -> int:
        self._wait_until_due(claimed)
        now = self._now()
        news = [running(run, self._worker_id, now) for run in claimed]
        with self._lock:
            self._claims[claim_id] = len(claimed)
            for run, event in zip(claimed, news, strict=True):
                self._started[run.run_id, run.fence] = event, claim_id
        started = self._shift.start(claimed)
        # One message to the bus tells of all that began, and of what was over at once.
        if started.ended:
            self._report(started.ended, news)
        else:
            self._reporter.began(news)
        return started.placed

    def _wait_until_due(self, claimed: Sequence[Claimed]) -> None:
        """A claim may come a little before its time; the work may not."""
        latest = max(run.due_at for run in claimed)
        if (early := (latest - self._now()).total_seconds()) > 0:
            self._sleep(early)

    def _report(self, outcomes: Sequence[Outcome], began: Sequence[JobEvent]) -> None:
        with self._lock:
            told = [self._started[outcome.run_id, outcome.fence] for outcome in outcomes]
        events = [event for event, _ in told]
        if self._tracer is not None:
            self._tracer.ran(zip(events, outcomes, strict=True))
        on_bus = self._reporter.ended(list(zip(events, outcomes, strict=True)), began)
        reported = self._settle(outcomes, [claim for _, claim in told], on_bus=on_bus)
        if reported:
            self._mark(reported)

    def _mark(self, claims: Sequence[UUID]) -> None:
        """Every outcome is on the bus: what never arrives is taken back after a while."""
        try:
            self._ledger.mark_reported(claims)
        except LedgerUnavailable as away:
            _log.warning("%d claims not marked as reported: %s", len(claims), away)

    def _settle(
        self, outcomes: Sequence[Outcome], claims: Sequence[UUID], *, on_bus: bool
    ) -> list[UUID]:
        """Claims of which the bus has every outcome by now."""
        reported: list[UUID] = []
        with self._lock:
            for outcome, claim_id in zip(outcomes, claims, strict=True):
                del self._started[outcome.run_id, outcome.fence]
                left = self._claims.get(claim_id)
                if left is None:
                    continue
                if not on_bus:
                    del self._claims[claim_id]  # the ledger has seen to it
                elif left == 1:
                    del self._claims[claim_id]
                    reported.append(claim_id)
                else:
                    self._claims[claim_id] = left - 1
        return reported
