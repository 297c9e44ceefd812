"""Tick: publish what is due, most urgent first, as far as there is room for it."""

import logging
from collections.abc import Callable, Sequence
from datetime import datetime

from lamplighter.contracts.messages import run_message
from lamplighter.contracts.topics import job_runs
from lamplighter.fail_points import FailPoint, fail_point
from lamplighter.ports.bus import Bus, Message
from lamplighter.ports.ledger import Lease
from lamplighter.ports.queue import Queue, Ready, Tick
from lamplighter.stages.capacity import Window
from lamplighter.telemetry.logs import keys, listed

_log = logging.getLogger("lamplighter.watcher")
_POPPED_AT_ONCE = 2_000


def tick(  # noqa: PLR0913 - its parts, and who listens
    queue: Queue,
    bus: Bus,
    lease: Lease,
    now: datetime,
    window: Window,
    *,
    found: Callable[[Tick], None] = lambda _: None,
) -> Tick:
    """One turn: pop up to the free places of each pool, and publish. `found` is told in between.

    Published first, forgotten second: a crash between the two sends twice, and the claim makes the
    second harmless; the other order would lose the run until the follow-up finds it.
    """
    turn = queue.tick(lease.epoch, now, window.free(), _POPPED_AT_ONCE, window.kept())
    found(turn)
    publish(queue, bus, lease, turn.runs, window)
    return turn


def take_over(queue: Queue, bus: Bus, lease: Lease, window: Window) -> int:
    """Publish again what an older leader popped and perhaps never sent."""
    left = queue.take_over(lease.epoch)
    window.look()
    publish(queue, bus, lease, left, window)
    return len(left)


def publish(queue: Queue, bus: Bus, lease: Lease, runs: Sequence[Ready], window: Window) -> None:
    if not runs:
        return
    fail_point(FailPoint.TICK_POPPED)
    bus.publish(addressed(runs, window))
    fail_point(FailPoint.TICK_PUBLISHED)
    queue.published(lease.epoch, runs)
    tell_of(runs, lease.epoch)


def tell_of(runs: Sequence[Ready], epoch: int) -> None:
    """In the log: these are on their way."""
    _log.info(
        "runs published",
        extra=keys(epoch=epoch, runs=len(runs), run_ids=listed(_log, (r.run_id for r in runs))),
    )


def addressed(runs: Sequence[Ready], window: Window) -> list[Message]:
    """The runs as messages, each to a partition in which nothing keeps it waiting."""
    return [
        Message(
            job_runs(run.pool, run.job_class),
            run_message(run),
            run.run_id.bytes,
            partition=partition,
        )
        for run, partition in zip(runs, window.place(runs), strict=True)
    ]
