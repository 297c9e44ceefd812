"""Execute: claim a batch, run it, report it. Never trusts the message: the claim decides."""

import time
from collections.abc import Callable, Sequence
from datetime import datetime
from uuid import UUID, uuid4

import msgspec

from lamplighter.contracts.messages import JobEvent, RunMessage, encode, ended, running
from lamplighter.contracts.topics import JOB_EVENTS
from lamplighter.domain.run import Claimed, Outcome, Refusal
from lamplighter.ports.bus import Bus, BusUnavailable, Message
from lamplighter.ports.ledger import Ledger
from lamplighter.stages.run import Runner


class Executed(msgspec.Struct):
    """What a batch came to."""

    claimed: int
    refused: dict[UUID, Refusal]
    reported: int = 0  # to the bus
    recorded: int = 0  # to the ledger itself, as the bus was away


class Executor:
    def __init__(  # noqa: PLR0913 - two ports, a runner, and each knob by its name
        self,
        ledger: Ledger,
        bus: Bus,
        runner: Runner,
        *,
        worker_id: str,
        now: Callable[[], datetime],
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._ledger, self._bus, self._runner = ledger, bus, runner
        self._worker_id = worker_id
        self._now = now
        self._sleep = sleep

    def execute(self, messages: Sequence[RunMessage]) -> Executed:
        claim_id = uuid4()
        tickets = [message.ticket() for message in messages]
        answer = self._ledger.claim(self._worker_id, claim_id, tickets)
        self._runner.cancel(answer.cancelled)
        result = Executed(len(answer.claimed), answer.refused)
        due = self._when_due(answer.claimed)
        started = {run.run_id: running(run, self._worker_id, self._now()) for run in due}
        self._tell(list(started.values()))
        for outcomes in self._runner.run_batch(due):
            self._report(started, outcomes, result)
        if started and result.recorded == 0:
            # Every outcome is on the bus: what never arrives is taken back after a while.
            self._ledger.mark_reported([claim_id])
        return result

    def _when_due(self, claimed: Sequence[Claimed]) -> Sequence[Claimed]:
        """A claim may come a little before its time; the work may not."""
        latest = max((run.due_at for run in claimed), default=None)
        if latest is not None and (early := (latest - self._now()).total_seconds()) > 0:
            self._sleep(early)
        return claimed

    def _report(
        self, started: dict[UUID, JobEvent], outcomes: Sequence[Outcome], result: Executed
    ) -> None:
        """To the bus; where that is away, to the ledger, which the recorder would have told."""
        now = self._now()
        events = [ended(started[each.run_id], each, now) for each in outcomes]
        try:
            self._bus.publish(_messages(events))
            result.reported += len(outcomes)
        except BusUnavailable:
            self._ledger.finish(outcomes)
            result.recorded += len(outcomes)

    def _tell(self, events: Sequence[JobEvent]) -> None:
        """News for readers: nothing depends on their arrival."""
        try:
            self._bus.publish(_messages(events))
        except BusUnavailable:
            return


def _messages(events: Sequence[JobEvent]) -> list[Message]:
    return [Message(JOB_EVENTS.name, encode(event), event.job_id.bytes) for event in events]
