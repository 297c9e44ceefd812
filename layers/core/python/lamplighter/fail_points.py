"""Places where a test lets the process die as in a power cut: at once, without cleaning up.

Each lies between two stores: the first knows already, the second does not yet. A test arms one by
making the file `<folder>/<name>`; the first process that comes there takes it and dies. What a fail
point costs without such a folder, which is always outside of tests, is a comparison.
"""

import os
import signal
from enum import StrEnum
from pathlib import Path


class FailPoint(StrEnum):
    SUBMIT_COMMITTED = "submit.committed"  # in the ledger, not in the queue
    RUN_NOW_COMMITTED = "run_now.committed"  # a run in the ledger, not in the queue
    BACKFILL_COMMITTED = "backfill.committed"  # runs in the ledger, not in the queue
    EDIT_COMMITTED = "edit.committed"  # its new run in the ledger, not in the queue
    CANCEL_COMMITTED = "cancel.committed"  # in the ledger, workers not yet told
    DECIDE_COMMITTED = "decide.committed"  # a run ended in the ledger, dependents not yet told
    REQUEST_PERSISTED = "request.persisted"  # in the ledger, the request not yet committed
    PLAN_COMMITTED = "plan.committed"  # runs in the ledger, not in the queue
    LOAD_ADDED = "load.added"  # in the queue, the cursor not yet moved
    TICK_POPPED = "tick.popped"  # in flight, not on the bus
    TICK_PUBLISHED = "tick.published"  # on the bus, still in flight
    CLAIM_GRANTED = "claim.granted"  # claimed, not begun
    CLAIM_SETTLED = "claim.settled"  # ended instead of granted, dependents not yet told
    CLAIM_COMMITTED = "claim.committed"  # claimed, the message gone, not begun
    RUN_ENDED = "run.ended"  # done, nobody knows
    REPORT_PUBLISHED = "report.published"  # on the bus, the claim not yet marked
    RECORD_COMMITTED = "record.committed"  # in the ledger, dependents not yet told
    RECORD_TOLD = "record.told"  # dependents told, the events not yet committed
    RESOLVE_COMMITTED = "resolve.committed"  # dependents freed, the leader not yet woken
    SWEEP_COMMITTED = "sweep.committed"  # taken back or ended, nobody told
    BURY_PUBLISHED = "bury.published"  # a dead letter, its message not yet committed


_folder: Path | None = None


def watch(folder: Path | None) -> None:
    """Where to look for fail points that are armed; None: nowhere."""
    global _folder  # noqa: PLW0603 - one process has one
    _folder = folder


def died_at(folder: Path, name: FailPoint) -> int | None:
    """The process that died there, if one has."""
    return next((int(mark.suffix[1:]) for mark in folder.glob(f"{name}.died.*")), None)


def fail_point(name: FailPoint) -> None:
    """Die here, if somebody wants that and nobody has yet."""
    if _folder is not None:
        _die(_folder / name)


def _die(armed: Path) -> None:
    pid = os.getpid()
    try:
        # Of several that come here at once, one can.
        armed.rename(armed.with_name(f"{armed.name}.died.{pid}"))
    except FileNotFoundError:
        return
    os.kill(pid, signal.SIGKILL)
