"""A process dies (SIGKILL) exactly between two stores, and nothing is lost or done twice.

One stack for all points of a bus: each is armed in turn, and jobs of every kind are submitted until
a process has died there. They recover side by side, since the silence of a worker lasts 15 s and a
dead consumer's partitions are given to another after 10 s. Narrowed to one test (`-k`), only that
point is armed.
"""

import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final

import pytest

from lamplighter.fail_points import FailPoint, died_at
from tests.e2e.stack import FINAL, Stack, until
from tests.faults.breaking import CREATED, frozen, insist, leader

PATIENCE: Final = 90.0
FAIL: Final = {"type": "python", "handler": "builtin.fail"}
BUSES: Final = [
    pytest.param("streams", marks=pytest.mark.xdist_group("crash-streams")),
    pytest.param("kafka", marks=[pytest.mark.kafka, pytest.mark.xdist_group("kafka")]),
]
# Who dies there; for most of them it is clear who else does not.
VICTIMS: Final = {
    "submit": {"gateway"},
    "request": {"recorder"},
    "plan": {"watcher"},
    "load": {"watcher"},
    "tick": {"watcher"},
    "claim": {"executor", "worker"},
    "run": {"executor", "worker"},
    "report": {"executor", "worker"},
    "record": {"recorder"},
    "resolve": {"resolver"},
}
# Neighbours are different processes: while one starts again, another can die.
IN_TURN: Final = (
    FailPoint.RECORD_COMMITTED,
    FailPoint.CLAIM_GRANTED,
    FailPoint.PLAN_COMMITTED,
    FailPoint.LOAD_ADDED,
    FailPoint.CLAIM_COMMITTED,
    FailPoint.SUBMIT_COMMITTED,
    FailPoint.RECORD_TOLD,
    FailPoint.RUN_ENDED,
    FailPoint.TICK_POPPED,
    FailPoint.RESOLVE_COMMITTED,
    FailPoint.REPORT_PUBLISHED,
    FailPoint.TICK_PUBLISHED,
    FailPoint.REQUEST_PERSISTED,
)


class Job:
    """One that was submitted, and how many runs it should have."""

    def __init__(self, job_id: str, runs: int = 1) -> None:
        self.job_id, self.runs = job_id, runs


class Scene:
    """A stack that can die at any point, and what was submitted while it was to."""

    def __init__(self, stack: Stack, folder: Path) -> None:
        self.stack, self._folder = stack, folder
        self._names = self._processes()
        self.jobs: dict[FailPoint, list[Job]] = {}
        self.victims: dict[FailPoint, str] = {}

    def crash(self, point: FailPoint) -> None:
        (self._folder / point).touch()
        is_deferred = point is FailPoint.REQUEST_PERSISTED
        self.jobs[point] = self._deferred() if is_deferred else self._kinds(point)
        if point is FailPoint.LOAD_ADDED:
            # Loading begins with a new leader; otherwise it would be 20 s until the next.
            self.stack.kill(self._names[leader(self.stack)])
        pid = until(lambda: died_at(self._folder, point), f"somebody dies at {point}", PATIENCE)
        self.victims[point] = self._names[pid]
        self.stack.replaced(self._names[pid], pid)
        self._names |= self._processes()

    def _processes(self) -> dict[int, str]:
        self.stack.component("gateway")
        return {each["pid"]: each["name"] for each in self.stack.state["components"]}

    def _submit(self, **body: Any) -> Job:
        return Job(insist(self.stack, body)[0])

    def _kinds(self, point: FailPoint) -> list[Job]:
        """Of every kind one; all of them are over within seconds."""
        first = self._submit(name="first")
        now = datetime.now(UTC).replace(microsecond=0)
        soon, later = now + timedelta(seconds=6), now + timedelta(seconds=9)
        cron = self._submit(
            schedule_type="CRON",
            cron_expression="* * * * * *",
            start_at=soon.isoformat(),
            end_at=later.isoformat(),
            overlap="allow",
        )
        cron.runs = 4
        return [
            first,
            self._submit(name="then", after=[first.job_id]),
            self._submit(schedule_type="FUTURE", schedule_time=soon.isoformat()),
            self._submit(target=FAIL, payload={"attempts": 1}, max_retries=2),
            self._submit(command="echo in a process of its own"),
            self._submit(ordering_key=point, payload=1),
            self._submit(ordering_key=point, payload=2),
            cron,
        ]

    def _deferred(self) -> list[Job]:
        """Accepted while nobody could ask the ledger."""
        with frozen(self.stack, "postgres"):
            first, status = insist(self.stack, {"name": "accepted without the ledger"})
            assert status != CREATED
            second, _status = insist(self.stack, {"command": "echo as well"})
        return [Job(first), Job(second)]


@pytest.fixture(scope="module", params=BUSES)
def scene(request: pytest.FixtureRequest) -> Iterator[Scene]:
    asked = {
        item.callspec.params["point"]
        for item in request.session.items
        if isinstance(item, pytest.Function)
        and item.module is request.module
        and "scene" in item.fixturenames
        and item.callspec.params["scene"] == request.param
    }
    with tempfile.TemporaryDirectory(prefix="lamplighter-") as made:
        folder = Path(made) / "fail points"
        folder.mkdir()
        settings = {"LAMPLIGHTER_FAIL_POINTS": str(folder)}
        data = Path(made) / "data"
        with Stack(data, "--workers", "2", bus=request.param, environment=settings) as stack:
            made_scene = Scene(stack, folder)
            for point in IN_TURN:
                if point in asked:
                    made_scene.crash(point)
            yield made_scene


def test_every_point_is_here() -> None:
    assert set(IN_TURN) == set(FailPoint)


@pytest.mark.parametrize("point", FailPoint)
def test_a_crash_there_loses_nothing(scene: Scene, point: FailPoint) -> None:
    """Exactly there: a process that takes the file dies in the same line."""
    assert scene.victims[point].partition("-")[0] in VICTIMS[point.partition(".")[0]]

    for job in scene.jobs[point]:
        until(partial(_is_over, scene.stack, job), f"{job.job_id} is over", 60)

    scene.stack.verify()


def _is_over(stack: Stack, job: Job) -> bool:
    """All its runs have succeeded, and there are no others."""
    # Accepted without the ledger, it is written down when its recorder is back.
    if stack.ask("GET", f"/jobs/{job.job_id}").status == HTTPStatus.NOT_FOUND:
        return False
    states = [run["status"] for run in stack.runs(job.job_id)]
    assert not (FINAL - {"SUCCESS"}) & set(states), _histories(stack, job)
    return states == ["SUCCESS"] * job.runs


def _histories(stack: Stack, job: Job) -> str:
    """Every run of it whole, for a reader who has nothing but this message."""
    return "\n".join(str(stack.run(run["run_id"])) for run in stack.runs(job.job_id))
