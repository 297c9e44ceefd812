"""One run in a thread of its own, and everything that can happen to it: it ends exactly once."""

import threading
import time
from collections.abc import Callable
from typing import Protocol

from lamplighter.domain.run import Claimed, Outcome
from lamplighter.ports.target import Found, StopReason
from lamplighter.stages.run import verdicts
from lamplighter.stages.run.alarms import Alarms
from lamplighter.stages.run.context import RunContext
from lamplighter.stages.run.limits import Limits
from lamplighter.stages.run.stop import Stop


class Surroundings(Protocol):
    """What an attempt needs of the runner."""

    alarms: Alarms
    limits: Limits

    def context(self, run: Claimed, stop: Stop) -> RunContext: ...

    def abandoned(self, attempt: "Attempt") -> None: ...


class Attempt:
    def __init__(
        self,
        run: Claimed,
        found: Found,
        around: Surroundings,
        deliver: Callable[["Attempt", Outcome], None],
    ) -> None:
        self.run = run
        self.found = found
        self.stop = Stop()
        self.context: RunContext | None = None
        self._around = around
        self._deliver = deliver
        self._lock = threading.Lock()
        self._ended = False
        self._alarm: int | None = None

    def perform(self) -> None:
        """In a thread of the crew: run the target, and report unless somebody has given it up."""
        context = self._begin()
        if context is None:
            return
        try:
            ending: verdicts.Ending = self.found.target.run(self.found.spec, context)
        except BaseException as error:  # noqa: BLE001 - whatever it is, it is this run's alone
            ending = error
        if not self._end():
            return
        reason = self._why_stopped(ending, context)
        if reason is not None:
            outcome = verdicts.stopped(reason, context)
        else:
            outcome = verdicts.outcome_of(ending, context, self._around.limits)
        self._deliver(self, outcome)

    def _why_stopped(self, ending: verdicts.Ending, context: RunContext) -> StopReason | None:
        """Told to stop before it ended: then it was stopped, however it puts that itself."""
        if self.stop.reason is not None:
            return self.stop.reason
        # A target has its own eye on the deadline, and may be quicker than the alarm: to give up
        # by itself then is to time out, not to fail.
        gave_up = isinstance(ending, BaseException) and context.remaining() == 0
        return StopReason.TIMED_OUT if gave_up else None

    def cancel(self) -> None:
        """Tell it to stop; where it has not started, it never will."""
        self._stop(StopReason.CANCELLED)

    def release(self) -> None:
        if self._end():
            self._deliver(self, verdicts.released(self.run))

    def _begin(self) -> RunContext | None:
        with self._lock:
            if self._ended:
                return None
            context = self._around.context(self.run, self.stop)
            self.context = context
            self._alarm = self._around.alarms.at(context.deadline, self._time_out)
            return context

    def _end(self) -> bool:
        """Whether this call is the one that ends it."""
        with self._lock:
            if self._ended:
                return False
            self._ended = True
            if self._alarm is not None:
                self._around.alarms.take_back(self._alarm)
            return True

    def _time_out(self) -> None:
        self._stop(StopReason.TIMED_OUT)

    def _stop(self, reason: StopReason) -> None:
        with self._lock:
            if self._ended or self.stop.requested():
                return
            waiting = self.context is None
            self._ended = waiting
            if not waiting:
                self._wait_for_it()
        if waiting:
            self._deliver(self, verdicts.cancelled_waiting(self.run))
        else:
            self.stop.request(reason)

    def _wait_for_it(self) -> None:
        if self._alarm is not None:
            self._around.alarms.take_back(self._alarm)
        patience = self.found.target.patience(self.found.spec)
        self._alarm = self._around.alarms.at(time.monotonic() + patience, self._give_up)

    def _give_up(self) -> None:
        if self._end():
            self._around.abandoned(self)
            # Closing the log may take a while, and other deadlines wait for this thread.
            threading.Thread(target=self._report_left_behind, daemon=True).start()

    def _report_left_behind(self) -> None:
        if self.context is not None and self.stop.reason is not None:
            outcome = verdicts.stopped(self.stop.reason, self.context, left_behind=True)
            self._deliver(self, outcome)
