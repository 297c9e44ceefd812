"""Places where a test lets the process die as in a power cut: at once, without cleaning up.

Each lies between two stores: the first knows already, the second does not yet. What a fail point
costs when none is armed is a comparison.
"""

import os
import signal
from enum import StrEnum
from pathlib import Path


class FailPoint(StrEnum):
    SUBMIT_COMMITTED = "submit.committed"  # in the ledger, not in the queue
    REQUEST_PERSISTED = "request.persisted"  # in the ledger, the request not yet committed
    PLAN_COMMITTED = "plan.committed"  # runs in the ledger, not in the queue
    LOAD_ADDED = "load.added"  # in the queue, the cursor not yet moved
    TICK_POPPED = "tick.popped"  # in flight, not on the bus
    TICK_PUBLISHED = "tick.published"  # on the bus, still in flight
    CLAIM_GRANTED = "claim.granted"  # claimed, not begun
    CLAIM_COMMITTED = "claim.committed"  # claimed, the message gone, not begun
    RUN_ENDED = "run.ended"  # done, nobody knows
    REPORT_PUBLISHED = "report.published"  # on the bus, the claim not yet marked
    RECORD_COMMITTED = "record.committed"  # in the ledger, dependents not yet told
    RECORD_TOLD = "record.told"  # dependents told, the events not yet committed
    RESOLVE_COMMITTED = "resolve.committed"  # dependents freed, the leader not yet woken


_armed: tuple[FailPoint, Path] | None = None


def arm(where: str) -> None:
    """`name:marker file`. The file is made at the crash, so that the next process lives on."""
    global _armed  # noqa: PLW0603 - one process has one
    name, _, marker = where.partition(":")
    _armed = FailPoint(name), Path(marker)


def fail_point(name: FailPoint) -> None:
    """Die here, if this is where to die and nobody has yet."""
    if _armed is not None and _armed[0] is name:
        _die(_armed[1])


def _die(marker: Path) -> None:
    try:
        marker.touch(exist_ok=False)
    except FileExistsError:
        return
    os.kill(os.getpid(), signal.SIGKILL)
