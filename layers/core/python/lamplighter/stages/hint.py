"""Hint: runs that are due soon, told to whoever leads; and if nobody does, to the workers."""

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Final

from lamplighter.contracts.messages import run_message
from lamplighter.contracts.topics import job_runs
from lamplighter.domain.run import Due
from lamplighter.ports.bus import Message
from lamplighter.ports.ledger import Leases
from lamplighter.ports.queue import Loading, QueueUnavailable, Ready

# The lease that decides which watcher may ask the ledger, where watchers are thrifty.
GATE: Final = "watcher"
# A worker that gets a run a moment too early waits for its time.
_EARLY: Final = timedelta(seconds=0.5)
# More than these at once are a matter of turns and shares: they wait for a leader.
_MOST_AT_ONCE: Final = 100


class Hint:
    """For a cell whose watchers sleep: the next one comes within a minute.

    What is due by then is published here. The claim decides, as always: a run that is published
    twice starts once, and one that is lost on the way is found by the leader's second look.
    """

    def __init__(
        self,
        gate: Leases,
        queue: Loading,
        publish: Callable[[Sequence[Message]], object],
        now: Callable[[], datetime],
    ) -> None:
        self._gate, self._queue, self._publish, self._now = gate, queue, publish, now

    def __call__(self, runs: Sequence[Due]) -> None:
        if not self._is_led():
            now = self._now() + _EARLY
            due = [run for run in runs if run.due_at <= now]
            if 0 < len(due) <= _MOST_AT_ONCE:
                self._publish([_message(run) for run in due])
                runs = [run for run in runs if run not in due]
        if runs:
            self._queue.add(runs)

    def _is_led(self) -> bool:
        try:
            lease = self._gate.lease(GATE)
        except QueueUnavailable:
            return False
        return lease is not None and lease.expires_at > self._now()


def _message(run: Due) -> Message:
    ready = Ready(run.run_id, run.fence, run.priority, run.pool, run.tenant)
    return Message(job_runs(run.pool, ready.job_class), run_message(ready), run.run_id.bytes)
