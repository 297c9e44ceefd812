"""What is submitted while a process is to die at a fail point, and what must become of it."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from http.client import HTTPException
from pathlib import Path
from typing import Any, Final

from lamplighter.contracts.topics import JOB_EVENTS
from lamplighter.fail_points import FailPoint, died_at
from lamplighter.ports.bus import Message
from tests.e2e.stack import FAIL, SLEEP, Stack, soon, until
from tests.faults.breaking import CREATED, frozen, insist, insist_on, leader

PATIENCE: Final = 90.0
POISON: Final = b"not an event"
ONCE_A_YEAR: Final = {"schedule_type": "CRON", "cron_expression": "0 0 1 1 *", "overlap": "allow"}


class Job:
    """One that was submitted, and how its runs should end."""

    def __init__(self, job_id: str, ends: Sequence[str] = ("SUCCESS",)) -> None:
        self.job_id, self.ends = job_id, sorted(ends)


class Scene:
    """A stack that can die at any point, and what was submitted while it was to."""

    def __init__(self, stack: Stack, folder: Path) -> None:
        self.stack, self._folder = stack, folder
        self._names = self._processes()
        self.jobs: dict[FailPoint, list[Job]] = {}
        self.victims: dict[FailPoint, str] = {}

    def crash(self, point: FailPoint) -> None:
        lure = _LURES.get(point, _kinds)
        self.jobs[point] = lure(self, (self._folder / point).touch)
        pid = until(lambda: died_at(self._folder, point), f"somebody dies at {point}", PATIENCE)
        self.victims[point] = self._names[pid]
        self.stack.replaced(self._names[pid], pid)
        self._names |= self._processes()

    def depose(self) -> None:
        self.stack.kill(self._names[leader(self.stack)])

    def submit(self, *ends: str, **body: Any) -> Job:
        return Job(insist(self.stack, body)[0], ends or ("SUCCESS",))

    def _processes(self) -> dict[int, str]:
        self.stack.component("gateway")
        return {each["pid"]: each["name"] for each in self.stack.state["components"]}


Arm = Callable[[], None]


def _kinds(scene: Scene, arm: Arm) -> list[Job]:
    """Of every kind one; all of them are over within seconds."""
    arm()
    first = scene.submit(name="first")
    now = datetime.now(UTC).replace(microsecond=0)
    near, later = now + timedelta(seconds=6), now + timedelta(seconds=9)
    cron = scene.submit(
        *["SUCCESS"] * 4,
        schedule_type="CRON",
        cron_expression="* * * * * *",
        start_at=near.isoformat(),
        end_at=later.isoformat(),
        overlap="allow",
    )
    key = first.job_id
    return [
        first,
        scene.submit(name="then", after=[first.job_id]),
        scene.submit(schedule_type="FUTURE", schedule_time=near.isoformat()),
        scene.submit(target=FAIL, payload={"attempts": 1}, max_retries=2),
        scene.submit(command="echo in a process of its own"),
        scene.submit(ordering_key=key, payload=1),
        scene.submit(ordering_key=key, payload=2),
        cron,
    ]


def _loaded(scene: Scene, arm: Arm) -> list[Job]:
    """Loading begins with a new leader; otherwise it would be 20 s until the next."""
    jobs = _kinds(scene, arm)
    scene.depose()
    return jobs


def _deferred(scene: Scene, arm: Arm) -> list[Job]:
    """Accepted while nobody could ask the ledger."""
    arm()
    with frozen(scene.stack, "postgres"):
        first, status = insist(scene.stack, {"name": "accepted without the ledger"})
        assert status != CREATED
        second, _status = insist(scene.stack, {"command": "echo as well"})
    return [Job(first), Job(second)]


def _run_now(scene: Scene, arm: Arm) -> list[Job]:
    job = scene.submit(**ONCE_A_YEAR)
    arm()
    insist_on(scene.stack, "POST", f"/jobs/{job.job_id}/runNow")
    return [job]


def _backfilled(scene: Scene, arm: Arm) -> list[Job]:
    job = scene.submit(*["SUCCESS"] * 3, **{**ONCE_A_YEAR, "cron_expression": "0 0 * * *"})
    arm()
    body = {"start": soon(-3 * 86_400), "end": soon(-1)}
    insist_on(scene.stack, "POST", f"/jobs/{job.job_id}/backfill", body)
    return [job]


def _edited(scene: Scene, arm: Arm) -> list[Job]:
    """Moved from next year to now, by somebody who does not ask again: the leader finds the run."""
    job = scene.submit(**ONCE_A_YEAR)
    arm()
    body = {"schedule_type": "FUTURE", "schedule_time": soon(2), "cron_expression": None}
    with suppress(OSError, HTTPException):  # the gateway dies over it
        scene.stack.ask("PUT", f"/jobs/{job.job_id}", body)
    return [job]


def _cancelled(scene: Scene, arm: Arm) -> list[Job]:
    """While it runs: its worker hears of it by itself, and then those that wait for it do."""
    job = scene.submit("CANCELLED", target=SLEEP, payload=600)
    then = scene.submit(after=[job.job_id], trigger_rule="all_done")
    scene.stack.in_state(job.job_id, "RUNNING")
    arm()
    insist_on(scene.stack, "DELETE", f"/jobs/{job.job_id}")
    return [job, then]


def _decided(scene: Scene, arm: Arm) -> list[Job]:
    """A run that waits is cancelled by somebody who does not ask again: the sweep tells others."""
    job = scene.submit("CANCELLED", target=FAIL, max_retries=1, backoff={"base_seconds": 3600})
    then = scene.submit(after=[job.job_id], trigger_rule="all_done")
    [run] = scene.stack.in_state(job.job_id, "RETRYING")
    arm()
    with suppress(OSError, HTTPException):  # the gateway dies over it
        scene.stack.ask("POST", f"/runs/{run['run_id']}/cancel")
    return [job, then]


def _too_late(scene: Scene, arm: Arm) -> list[Job]:
    """A run that the claim skips, the only one of its job.

    The end of another would lead to those that wait for this one, too; so only the sweep finds it.
    """
    arm()
    job = scene.submit(
        "SKIPPED", schedule_type="FUTURE", schedule_time=soon(4), expires_at=soon(3.5)
    )
    return [job, scene.submit(after=[job.job_id], trigger_rule="all_done")]


def _expiring(scene: Scene, arm: Arm) -> list[Job]:
    """Parked behind another for longer than it may wait."""
    arm()
    first = scene.submit(ordering_key="expiring", target=SLEEP, payload=8)
    scene.stack.in_state(first.job_id, "RUNNING")
    second = scene.submit("SKIPPED", ordering_key="expiring", start_deadline_seconds=3)
    return [first, second, scene.submit(after=[second.job_id], trigger_rule="all_done")]


def _poisoned(scene: Scene, arm: Arm) -> list[Job]:
    """A message that nobody can read, among those of a job."""
    arm()
    with scene.stack.bus_client() as bus:
        bus.publish([Message(JOB_EVENTS.name, POISON, None)])
    return [scene.submit(name="beside it")]


_LURES: Final[dict[FailPoint, Callable[[Scene, Arm], list[Job]]]] = {
    FailPoint.LOAD_ADDED: _loaded,
    FailPoint.REQUEST_PERSISTED: _deferred,
    FailPoint.RUN_NOW_COMMITTED: _run_now,
    FailPoint.BACKFILL_COMMITTED: _backfilled,
    FailPoint.EDIT_COMMITTED: _edited,
    FailPoint.CANCEL_COMMITTED: _cancelled,
    FailPoint.DECIDE_COMMITTED: _decided,
    FailPoint.CLAIM_SETTLED: _too_late,
    FailPoint.SWEEP_COMMITTED: _expiring,
    FailPoint.BURY_PUBLISHED: _poisoned,
}
