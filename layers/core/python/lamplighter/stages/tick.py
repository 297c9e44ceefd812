"""Tick: publish what is due, most urgent first, as far as there is room for it."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from lamplighter.contracts.messages import run_message
from lamplighter.contracts.topics import job_runs
from lamplighter.ports.bus import Bus, Message
from lamplighter.ports.ledger import Lease
from lamplighter.ports.queue import Queue, Ready, Tick

_POPPED_AT_ONCE = 2_000


def tick(queue: Queue, bus: Bus, lease: Lease, now: datetime, free: Mapping[str, int]) -> Tick:
    """One turn: pop up to the free places of each pool, and publish.

    Published first, forgotten second: a crash between the two sends twice, and the claim makes the
    second harmless; the other order would lose the run until the follow-up finds it.
    """
    turn = queue.tick(lease.epoch, now, free, _POPPED_AT_ONCE)
    publish(queue, bus, lease, turn.runs)
    return turn


def take_over(queue: Queue, bus: Bus, lease: Lease) -> int:
    """Publish again what an older leader popped and perhaps never sent."""
    left = queue.take_over(lease.epoch)
    publish(queue, bus, lease, left)
    return len(left)


def publish(queue: Queue, bus: Bus, lease: Lease, runs: Sequence[Ready]) -> None:
    if not runs:
        return
    bus.publish(
        [
            Message(job_runs(run.pool, run.job_class), run_message(run), run.run_id.bytes)
            for run in runs
        ]
    )
    queue.published(lease.epoch, runs)
