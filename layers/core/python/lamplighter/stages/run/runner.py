"""Run: execute one batch of claimed runs concurrently, and say how each of them ended.

Comes after the claim; the report comes next. One bad target disturbs no other: whatever it raises,
prints or never does, ends in its own outcome.
"""

import threading
from collections.abc import Iterable, Iterator, Sequence
from queue import SimpleQueue
from typing import Final
from uuid import UUID

from lamplighter.domain.run import Claimed, Outcome
from lamplighter.ports.logs import Logs
from lamplighter.ports.target import Found, Secrets, Targets
from lamplighter.stages.run import verdicts
from lamplighter.stages.run.alarms import Alarms
from lamplighter.stages.run.attempt import Attempt
from lamplighter.stages.run.context import RunContext
from lamplighter.stages.run.crew import Crew
from lamplighter.stages.run.limits import Limits, timeout_of
from lamplighter.stages.run.shift import Shift, Started
from lamplighter.stages.run.stop import Stop

# Quick targets end before anybody could ask them to stop.
_NEVER: Final = Stop()


class Runner:
    """The part of a worker that runs things. Any thread may call any method."""

    def __init__(
        self, targets: Targets, logs: Logs, secrets: Secrets, limits: Limits | None = None
    ) -> None:
        self.limits = limits or Limits()
        self.alarms = Alarms()
        self.targets = targets
        self._logs = logs
        self._secrets = secrets
        self._crew = Crew(self.limits.places, self.limits.most_abandoned)
        self._attempts: dict[UUID, Attempt] = {}
        # Set with every run that is placed, for whoever sleeps until there is one.
        self.placed = threading.Event()

    @property
    def free(self) -> int:
        """How many more runs could start now. Claim no more than these."""
        return self._crew.free

    @property
    def exhausted(self) -> bool:
        """Too many threads hang in handlers that ignore their deadline: replace this process."""
        return self._crew.exhausted

    def run_batch(self, batch: Sequence[Claimed]) -> Iterator[list[Outcome]]:
        """Start all of it now; iterate to get every outcome once, in handfuls as they come.

        What waits for a place when the runner closes, or is exhausted, comes back RELEASED.
        """
        shift = self.shift()
        started = shift.start(batch)
        return _outcomes(shift, started)

    def shift(self) -> Shift:
        """For whoever starts more while the first are still running."""
        return Shift(self)

    def running(self) -> list[UUID]:
        """What is here: waiting for a place, running, or about to be reported."""
        return list(self._attempts)

    def cancel(self, run_ids: Iterable[UUID]) -> set[UUID]:
        """Stop those of these runs that are here, and say which they are. May be repeated."""
        here = {run: attempt for run in run_ids if (attempt := self._attempts.get(run))}
        for attempt in here.values():
            attempt.cancel()
        return set(here)

    def close(self) -> None:
        """Start nothing more, give back what waits; what runs may end."""
        self._crew.close()

    def context(self, run: Claimed, stop: Stop) -> RunContext:
        return RunContext(
            run,
            timeout_of(run, self.limits),
            stop,
            limits=self.limits,
            logs=self._logs,
            secrets=self._secrets,
        )

    def abandoned(self, attempt: Attempt) -> None:
        self._crew.abandon(attempt)

    def place(self, run: Claimed, found: Found, ended: "SimpleQueue[Outcome]") -> None:
        """Run it in a thread, as soon as there is a place."""

        def deliver(attempt: Attempt, outcome: Outcome) -> None:
            if self._attempts.get(run.run_id) is attempt:
                del self._attempts[run.run_id]
            ended.put(outcome)

        if (older := self._attempts.get(run.run_id)) is not None:
            older.cancel()  # the run was taken from it: whatever it still does counts for nothing
        attempt = Attempt(run, found, self, deliver)
        self._attempts[run.run_id] = attempt
        self.placed.set()
        self._crew.give(attempt)

    def run_quick(self, run: Claimed, found: Found) -> Outcome:
        """In the caller's own thread: handing it to another would cost more than it does."""
        context = self.context(run, _NEVER)
        try:
            ending: verdicts.Ending = found.target.run(found.spec, context)
        except KeyboardInterrupt:  # a person's, and meant for the whole process
            raise
        except BaseException as error:  # noqa: BLE001
            ending = error
        return verdicts.outcome_of(ending, context, self.limits)


def _outcomes(shift: Shift, started: Started) -> Iterator[list[Outcome]]:
    if started.ended:
        yield started.ended
    awaited = started.placed
    while awaited:
        handful = shift.wait()
        awaited -= len(handful)
        yield handful
