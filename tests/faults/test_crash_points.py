"""A process dies (SIGKILL) exactly between two stores, and nothing is lost or done twice.

One stack for all points of a bus: each is armed in turn, and jobs of every kind are submitted until
a process has died there. They recover side by side, since the silence of a worker lasts 15 s and a
dead consumer's partitions are given to another after 10 s. Narrowed to one test (`-k`), only that
point is armed.
"""

import tempfile
from collections.abc import Iterator
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import Final

import pytest

from lamplighter.fail_points import FailPoint
from tests.e2e.stack import FINAL, Stack, until
from tests.faults.crashing import Job, Scene

# The leader finds after a minute what nobody has told the queue of.
PATIENCE: Final = 120.0
BUSES: Final = [
    pytest.param("streams", marks=pytest.mark.xdist_group("crash-streams")),
    pytest.param("kafka", marks=[pytest.mark.kafka, pytest.mark.xdist_group("kafka")]),
]
# Who dies there; for most of them it is clear who else does not.
VICTIMS: Final = {
    "submit": {"gateway"},
    "run_now": {"gateway"},
    "backfill": {"gateway"},
    "edit": {"gateway"},
    "cancel": {"gateway"},
    "decide": {"gateway"},
    "request": {"recorder"},
    "plan": {"watcher"},
    "load": {"watcher"},
    "tick": {"watcher"},
    "claim": {"executor", "worker"},
    "run": {"executor", "worker"},
    "report": {"executor", "worker"},
    "record": {"recorder"},
    "resolve": {"resolver"},
    "sweep": {"watcher"},
    "bury": {"recorder"},
}
# Neighbours are different processes: while one starts again, another can die.
IN_TURN: Final = (
    # First, while every partition has its reader: a run that is claimed late expires by that.
    FailPoint.SWEEP_COMMITTED,
    FailPoint.CANCEL_COMMITTED,
    # Early, since it waits longest.
    FailPoint.EDIT_COMMITTED,
    FailPoint.RECORD_COMMITTED,
    FailPoint.CLAIM_GRANTED,
    FailPoint.PLAN_COMMITTED,
    FailPoint.LOAD_ADDED,
    FailPoint.CLAIM_COMMITTED,
    FailPoint.SUBMIT_COMMITTED,
    FailPoint.RECORD_TOLD,
    FailPoint.RUN_NOW_COMMITTED,
    FailPoint.RUN_ENDED,
    FailPoint.TICK_POPPED,
    FailPoint.BURY_PUBLISHED,
    FailPoint.RESOLVE_COMMITTED,
    FailPoint.REPORT_PUBLISHED,
    FailPoint.BACKFILL_COMMITTED,
    FailPoint.TICK_PUBLISHED,
    FailPoint.DECIDE_COMMITTED,
    FailPoint.REQUEST_PERSISTED,
    FailPoint.CLAIM_SETTLED,
)


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
            stack.verify()  # all of them have recovered


def test_every_point_is_here() -> None:
    assert set(IN_TURN) == set(FailPoint)


@pytest.mark.parametrize("point", FailPoint)
def test_a_crash_there_loses_nothing(scene: Scene, point: FailPoint) -> None:
    """Exactly there: a process that takes the file dies in the same line."""
    assert scene.victims[point].partition("-")[0] in VICTIMS[point.partition(".")[0]]

    for job in scene.jobs[point]:
        until(partial(_is_over, scene.stack, job), f"{job.job_id} is over", PATIENCE)

    scene.stack.verify(grace="5m")  # those of other points are recovering


@pytest.mark.parametrize("point", [FailPoint.BURY_PUBLISHED])
def test_what_was_being_buried_is_a_dead_letter(scene: Scene, point: FailPoint) -> None:
    """Perhaps twice: its message came again."""
    found = scene.stack.dead_letters("--list")

    assert {(each["topic"], each["function"]) for each in found} == {("job-events", "recorder")}


def _is_over(stack: Stack, job: Job) -> bool:
    """All its runs have ended as they should, and there are no others."""
    # Accepted without the ledger, it is written down when its recorder is back.
    if stack.ask("GET", f"/jobs/{job.job_id}").status == HTTPStatus.NOT_FOUND:
        return False
    states = sorted(run["status"] for run in stack.runs(job.job_id))
    assert not (FINAL - {*job.ends}) & set(states), _histories(stack, job)
    return states == job.ends


def _histories(stack: Stack, job: Job) -> str:
    """Every run of it whole, for a reader who has nothing but this message."""
    return "\n".join(str(stack.run(run["run_id"])) for run in stack.runs(job.job_id))
