"""A part of a running stack is gone for a while: what people see, and that nothing is lost.

One stack per bus is broken in every way, one after the other, while a job fires every second; the
last way is to kill all of it. Each test logs how long that took (`--log-cli-level=INFO`).
"""

import logging
import os
import shutil
import signal
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any, Final

import pytest

from tests.e2e.stack import FINAL, Answer, Stack, until
from tests.faults.breaking import (
    ACCEPTED,
    CREATED,
    fence_of,
    frozen,
    insist,
    is_alive,
    leader,
    longest_gap,
    processes,
    seconds_until_it_runs,
    succeeded,
)

_log: Final = logging.getLogger("lamplighter.faults")
BUSES: Final = [
    pytest.param("streams", marks=pytest.mark.xdist_group("outage-streams")),
    pytest.param("kafka", marks=[pytest.mark.kafka, pytest.mark.xdist_group("kafka")]),
]
EVERY_SECOND: Final = {
    "schedule_type": "CRON",
    "cron_expression": "* * * * * *",
    "overlap": "allow",
    "catch_up": "all",
}
SLEEP: Final = {"type": "python", "handler": "builtin.sleep"}
# A working day is not lost over a machine that is busy with other things.
NOISE: Final = 4.0
# What docs/faults.md promises; it says of each whether a test insists on it.
WITHOUT_VALKEY: Final = 5.0
FAILOVER: Final = 2.0
# Fifteen seconds of silence, three until somebody looks, and the two that they sleep.
LOST: Final = 20.0
# A run that nobody was told of is looked for after a minute; nothing may take longer than this.
RECOVERY: Final = "90s"


class Scene:
    """A stack that is broken and mended, and may be another one after that on the same data."""

    def __init__(self, data: Path, bus: str) -> None:
        self._data, self.bus = data, bus
        self.stack = Stack(data, bus=bus)
        self.cron = self.stack.submit(name="every second", **EVERY_SECOND)

    def start_again(self) -> None:
        self.stack.stop()
        self.stack = Stack(self._data, bus=self.bus)

    def is_well(self, what: str) -> None:
        """All has recovered: a job of each pool runs, and the checker finds nothing."""
        quick = seconds_until_it_runs(self.stack, name="quick")
        command = seconds_until_it_runs(self.stack, command="true")
        _log.info("%s: %s; then a job %.1f s, a command %.1f s", self.bus, what, quick, command)
        self.stack.verify(RECOVERY)


@pytest.fixture(scope="module", params=BUSES)
def scene(request: pytest.FixtureRequest) -> Iterator[Scene]:
    with tempfile.TemporaryDirectory(prefix="lamplighter-") as folder:
        made = Scene(Path(folder) / "data", request.param)
        try:
            yield made
        finally:
            made.stack.stop()


@pytest.fixture
def only_streams(scene: Scene) -> Scene:
    if scene.bus != "streams":
        pytest.skip("the same over any bus")
    return scene


def _all_succeed(stack: Stack, jobs: list[str], seconds: float = 60) -> None:
    for job in jobs:
        until(partial(succeeded, stack, job), f"{job} succeeds", seconds)


def _long_ones(stack: Stack, seconds: float) -> list[str]:
    """Two that are running now: one in each pool, and so in each kind of worker."""
    jobs = [
        stack.submit(target=SLEEP, payload=seconds),
        stack.submit(command=f"sleep {seconds}"),
    ]
    for job in jobs:
        stack.in_state(job, "RUNNING")
    return jobs


def _submitted(stack: Stack, **body: Any) -> str:
    """Accepted at the first try, one way or the other."""
    answer = stack.ask("POST", "/jobs", {"name": "a job", **body})
    assert answer.status in {CREATED, ACCEPTED}, answer.text
    return str(answer.body["job_id"])


def test_postgres_dies_and_nobody_with_it(only_streams: Scene) -> None:
    scene, stack = only_streams, only_streams.stack
    running = _long_ones(stack, 3)
    workers = [stack.runs(job)[0]["executor_id"] for job in running]

    began = time.monotonic()
    old = stack.kill("postgres")
    jobs = [_submitted(stack)]
    while stack.component("postgres") in {None, old}:
        jobs.append(_submitted(stack))
        time.sleep(0.05)
    jobs.append(_submitted(stack, command="true"))

    _all_succeed(stack, jobs + running)
    assert [stack.runs(job)[0]["executor_id"] for job in running] == workers
    assert [fence_of(stack, job) for job in running] == [1, 1]
    scene.is_well(f"Postgres died; {len(jobs)} submitted and over {time.monotonic() - began:.1f} s")


def test_postgres_stands_still_and_submissions_do_not(scene: Scene) -> None:
    stack = scene.stack
    known = stack.submit()
    stack.ended(known)

    with ThreadPoolExecutor(100) as readers:
        with frozen(stack, "postgres"):
            frozen_at = time.monotonic()
            # More of them than the gateway has threads for readers, and connections by far.
            asked = [readers.submit(stack.ask, "GET", f"/jobs/{known}") for _ in range(100)]
            answers, slowest = [], 0.0
            while time.monotonic() - frozen_at < 8:
                began = time.monotonic()
                answers.append(stack.ask("POST", "/jobs", {"name": "in between"}))
                slowest = max(slowest, time.monotonic() - began)
                time.sleep(0.2)
        thawed_at = time.monotonic()
        read = {_status(each) for each in asked}
    hung = time.monotonic() - thawed_at

    assert {answer.status for answer in answers} == {ACCEPTED}
    assert slowest < 3 + NOISE
    assert read <= {200, 503}
    _all_succeed(stack, [answer.body["job_id"] for answer in answers])
    scene.is_well(
        f"Postgres stood still for 8 s; {len(answers)} accepted, the slowest in {slowest:.1f} s; "
        f"readers were answered {hung:.1f} s later"
    )


def _status(asked: "Future[Answer]") -> int:
    return asked.result().status


def test_valkey_stands_still_and_jobs_go_on_over_another_bus(scene: Scene) -> None:
    """On streams it is the bus as well: they go on when it does."""
    stack = scene.stack
    running = _long_ones(stack, 2)

    began = time.monotonic()
    with frozen(stack, "valkey"):
        jobs = [_submitted(stack), _submitted(stack, command="true")]
        if scene.bus == "kafka":
            _all_succeed(stack, jobs)
            seconds = time.monotonic() - began
            assert seconds < WITHOUT_VALKEY + NOISE
            _log.info("without Valkey, over Kafka: over in %.1f s", seconds)
        else:
            time.sleep(3)

    _all_succeed(stack, jobs + running)
    scene.is_well("Valkey stood still")


@pytest.mark.parametrize("emptied", [False, True], ids=["as it was", "emptied"])
def test_valkey_dies_and_comes_back(scene: Scene, *, emptied: bool) -> None:
    if scene.bus == "kafka" and not emptied:
        pytest.skip("who can do without all of it can do without some")
    stack = scene.stack
    running = _long_ones(stack, 3)
    later = [stack.submit(name="later", schedule_type="FUTURE", schedule_time=_in(4))]
    first = stack.submit(target=SLEEP, payload=4)
    later += [first, stack.submit(after=[first])]

    began = time.monotonic()
    with frozen(stack, "valkey"):  # so that nothing is written to what is removed
        if emptied:
            shutil.rmtree(stack.data / "valkey" / "data")
        old = stack.kill("valkey")
    jobs = [insist(stack, {"name": "in between"})[0]]
    stack.replaced("valkey", old)

    _all_succeed(stack, [*jobs, *later, *running])
    seconds = time.monotonic() - began
    # Whoever leads from now on finds all that it needs: topics were in Valkey as well.
    for name, pid in [(name, stack.kill(name)) for name in ("watcher-1", "watcher-2")]:
        stack.replaced(name, pid)
    scene.is_well(f"Valkey died; all over after {seconds:.1f} s")


def test_kafka_stands_still_dies_and_comes_back(scene: Scene) -> None:
    if scene.bus != "kafka":
        pytest.skip("there is none")
    stack = scene.stack
    running = _long_ones(stack, 1)

    began = time.monotonic()
    with frozen(stack, "kafka"):
        waiting = [_submitted(stack), _submitted(stack, command="true")]
        # Ten seconds after they have ended, their workers write it down themselves.
        _all_succeed(stack, running)
        direct = time.monotonic() - began
        old = stack.kill("kafka")
    stack.replaced("kafka", old)
    back = time.monotonic()

    _all_succeed(stack, waiting)
    after = time.monotonic() - back
    scene.is_well(f"Kafka stood still: outcomes in {direct:.1f} s; back: all over in {after:.1f} s")


def test_the_leader_dies_and_the_other_goes_on(scene: Scene) -> None:
    stack, cron = scene.stack, scene.cron
    stack.in_state(cron, "SUCCESS", count=1)
    before = len(stack.runs(cron))

    old = leader(stack)
    os.kill(old, signal.SIGKILL)

    until(lambda: leader(stack) != old, "another leads")
    until(lambda: len(_over(stack, cron)) > before + 5, "it fires on")
    gap = longest_gap(_over(stack, cron)[:10])
    assert gap < FAILOVER + NOISE
    scene.is_well(f"the leader died: {gap:.2f} s between two starts of a job of each second")


def test_a_leader_that_slept_changes_nothing(only_streams: Scene) -> None:
    stack, cron = only_streams.stack, only_streams.cron
    old = leader(stack)

    os.kill(old, signal.SIGSTOP)
    try:
        until(lambda: leader(stack) != old, "another leads")
        job = stack.submit()
        _all_succeed(stack, [job])
        time.sleep(3)
    finally:
        os.kill(old, signal.SIGCONT)

    gap = longest_gap(_over(stack, cron)[:10])
    assert gap < FAILOVER + NOISE
    assert is_alive(old)
    only_streams.is_well(f"the leader slept: {gap:.2f} s between two starts")


def _over(stack: Stack, job: str) -> list[dict[str, Any]]:
    return [run for run in stack.runs(job) if run["status"] in FINAL]


def test_workers_die_and_their_runs_are_begun_again(scene: Scene) -> None:
    """Bound to wait for 15 s of silence, so all of it dies at once."""
    stack = scene.stack
    lost = [
        stack.submit(target=SLEEP, payload=2),
        stack.submit(command="sleep 2"),
    ]
    held = stack.submit(target=SLEEP, payload=2, on_ambiguous="hold")
    for job in [*lost, held]:
        stack.in_state(job, "RUNNING")

    began = time.monotonic()
    for name in ("executor-1", "worker-1"):
        stack.kill(name)

    _all_succeed(stack, lost)
    seconds = time.monotonic() - began
    assert seconds < LOST + NOISE
    # It rose when they were taken back, and when they were claimed again.
    assert [fence_of(stack, job) for job in lost] == [3, 3]
    [run] = stack.in_state(held, "HELD")
    assert stack.ask("POST", f"/runs/{run['run_id']}/decide", {"status": "SUCCESS"}).status == 200
    _all_succeed(stack, [held])
    scene.is_well(f"workers died: their runs were over again after {seconds:.1f} s")


def test_workers_that_slept_change_nothing_and_go_on(only_streams: Scene, tmp_path: Path) -> None:
    """Each is the only one of its pool: the runs that were taken from it come back to it."""
    stack, first = only_streams.stack, tmp_path / "first"
    never = f"[ $LAMPLIGHTER_FENCE = 3 ] && exit; echo $$ > '{first}'; exec sleep 600"
    jobs = [stack.submit(command=never), stack.submit(target=SLEEP, payload=2)]
    for job in jobs:
        stack.in_state(job, "RUNNING")

    began = time.monotonic()
    with frozen(stack, "executor-1"), frozen(stack, "worker-1"):
        until(lambda: all(fence_of(stack, job) == 2 for job in jobs), "all were taken back")

    _all_succeed(stack, jobs)
    seconds = time.monotonic() - began
    assert [fence_of(stack, job) for job in jobs] == [3, 3]
    until(lambda: not is_alive(int(first.read_text())), "the attempt that was given up is stopped")
    only_streams.is_well(f"workers slept: their runs were over after {seconds:.1f} s")


def test_everything_dies_and_goes_on_where_it_was(only_streams: Scene) -> None:
    scene, stack = only_streams, only_streams.stack
    later = stack.submit(schedule_type="FUTURE", schedule_time=_in(3))
    first = stack.submit(command="sleep 2")
    jobs = [later, first, stack.submit(after=[first])]
    everybody = processes(stack)

    began = time.monotonic()
    os.kill(stack.state["pid"], signal.SIGKILL)
    until(lambda: not any(map(is_alive, everybody)), "nobody is left")
    gone = time.monotonic() - began
    scene.start_again()

    _all_succeed(scene.stack, jobs)
    scene.is_well(f"all died, gone after {gone:.1f} s, over after {time.monotonic() - began:.1f} s")


def _in(seconds: float) -> str:
    return (datetime.now(UTC) + timedelta(seconds=seconds)).isoformat()
