"""A leader that dies between the ledger and the queue leaves nothing behind loading's cursor."""

from contextlib import suppress
from datetime import timedelta
from typing import Any
from uuid import uuid4

from lamplighter.domain.job import Job
from lamplighter.domain.policy import ScheduleType
from lamplighter.domain.run import Submission
from lamplighter.domain.schedule import Schedule
from tests.stages.watch_world import Breakable, World, eventually, watching


class Died(BaseException):
    """What no code of ours catches."""


class Deadly(Breakable):
    """Whoever adds runs as a leader dies before they are in."""

    def add(self, runs: Any, *, epoch: int | None = None) -> None:
        if runs and epoch is not None:
            raise Died
        self.inner.add(runs, epoch=epoch)  # type: ignore[attr-defined]


def test_what_a_leader_had_planned_when_it_died_is_on_time() -> None:
    world = World()
    with watching(world.watcher("before")):
        ahead = world.ledger.now() + timedelta(minutes=4)
        eventually(lambda: world.ledger.cursor().loaded_to > ahead)
    first = world.ledger.now().replace(microsecond=0) + timedelta(seconds=1)
    schedule = Schedule(ScheduleType.INTERVAL, interval_seconds=1, start_at=first)
    job = Job(job_id=uuid4(), name="often", schedule=schedule)
    accepted = world.ledger.submit([Submission(job, first, first + timedelta(seconds=1))])
    world.queue.add(accepted.runs)

    with suppress(Died):
        world.watcher("dying", queue=Deadly(world.queue)).watch(10)

    *_, second, _ = world.ledger.runs("default", job.job_id, limit=1000)
    assert second.fire_at == first + timedelta(seconds=1)
    with watching(world.watcher("after")):
        world.receive_runs({second.run_id}, within=20)
