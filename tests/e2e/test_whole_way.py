"""The whole way of a job, stage by stage, over stores in memory: submitted, published, run, told.

The same stages run over PostgreSQL, Valkey and Kafka; here nothing but them can be at fault.
"""

import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest

from lamplighter.adapters.logs.folder import FolderLogs
from lamplighter.adapters.memory.bus import MemoryBus
from lamplighter.adapters.memory.cache import MemoryCache
from lamplighter.adapters.memory.ledger import MemoryLedger
from lamplighter.adapters.memory.queue import MemoryQueue
from lamplighter.adapters.targets.registry import ECHO, Registry, all_targets
from lamplighter.adapters.targets.secrets import FolderSecrets
from lamplighter.contracts.messages import read_dependency, read_run
from lamplighter.contracts.topics import (
    DEPENDENCY_EVENTS,
    JOB_EVENTS,
    all_topics,
    job_runs_topics,
)
from lamplighter.domain.job import Job, Policy
from lamplighter.domain.policy import Backoff, ScheduleType, Upstream
from lamplighter.domain.run import Run, Submission
from lamplighter.domain.schedule import Schedule, first_fire, next_fire
from lamplighter.domain.states import RunState, SkipReason
from lamplighter.ports.queue import QueueEmptied
from lamplighter.stages.capacity import Window, executor_group
from lamplighter.stages.execute import Executor
from lamplighter.stages.record import Recorder
from lamplighter.stages.report import Reporter
from lamplighter.stages.resolve import resolve
from lamplighter.stages.run import Runner
from lamplighter.stages.watch import Watcher
from lamplighter.stages.work import Doubts, Work

PATIENCE = 30.0
QUICK = Policy(backoff=Backoff(base_seconds=0.05, jitter=False))


class World:
    """Everything of one cell but the network: a watcher in a thread, the rest by hand."""

    def __init__(self, folder: Path) -> None:
        self.ledger, self.queue, self.bus = MemoryLedger(), MemoryQueue(), MemoryBus()
        self.bus.ensure_topics(all_topics())
        runs = [topic.name for topic in job_runs_topics("default")]
        self.runs = self.bus.consumer(executor_group("default"), runs)
        self.events = self.bus.consumer("recorder", [JOB_EVENTS.name])
        self.endings = self.bus.consumer("resolver", [DEPENDENCY_EVENTS.name])
        registry = Registry(all_targets(), ECHO)
        runner = Runner(registry, FolderLogs(folder / "logs"), FolderSecrets(folder / "secrets"))
        now, doubts = self.ledger.now, Doubts()
        reporter = Reporter(self.ledger, self.bus, now=now)
        self.executor = Executor(
            runner,
            lambda: Work(self.ledger, reporter, runner, worker_id="worker", now=now, doubts=doubts),
        )
        self.cache = MemoryCache()
        self.recorder = Recorder(self.ledger, self.bus, self.cache)
        window = Window(self.bus, {"default": 1000}, every_seconds=0.01)
        self.watcher = Watcher(self.ledger, self.queue, self.bus, holder="w1", window=window)

    def submit(self, schedule: Schedule, **fields: Any) -> Job:
        job = Job(job_id=uuid4(), name="a job", schedule=schedule, policy=QUICK, **fields)
        first = first_fire(schedule, self.ledger.now())
        later = None if first is None else next_fire(schedule, first)
        accepted = self.ledger.submit([Submission(job, first, later)])
        with suppress(QueueEmptied):
            self.queue.add(accepted.runs)
        return job

    def now(self, **fields: Any) -> Job:
        return self.submit(Schedule(ScheduleType.IMMEDIATE, self.ledger.now()), **fields)

    def after(self, *upstreams: Job, **fields: Any) -> Job:
        edges = tuple(Upstream(str(upstream.job_id)) for upstream in upstreams)
        return self.submit(Schedule(ScheduleType.AFTER), after=edges, **fields)

    def work(self) -> None:
        """One turn of executor, recorder and resolver, as their mappings would call them."""
        records = self.runs.poll(1000, 0.01)
        self.executor.execute([read_run(each.value) for each in records])
        self.runs.commit(records)
        told = self.events.poll(1000, 0.0)
        assert self.recorder.handle(told) == []
        self.events.commit(told)
        ended = self.endings.poll(1000, 0.0)
        endings = [read_dependency(each.value) for each in ended]
        resolve(self.ledger, self.queue, endings, self.bus)
        self.endings.commit(ended)

    def ended(self, *jobs: Job) -> list[Run]:
        """The only run of each of these, once all of them have ended; bounded."""
        runs: list[Run] = []
        end = self.ledger.now() + timedelta(seconds=PATIENCE)
        while self.ledger.now() < end:
            self.work()
            runs = [run for job in jobs for run in self.ledger.runs("default", job.job_id)]
            if len(runs) >= len(jobs) and all(run.state.is_final for run in runs):
                return runs
        raise AssertionError(f"not ended in time: {runs}")


@pytest.fixture
def world(folder: Path) -> Iterator[World]:
    world = World(folder)
    watching = threading.Thread(target=world.watcher.watch, args=(300.0,))
    watching.start()
    yield world
    world.watcher.stop()
    watching.join(PATIENCE)
    assert not watching.is_alive()


def test_an_immediate_job_runs_and_its_result_is_kept(world: World) -> None:
    target = {"type": "python", "handler": "builtin.echo"}

    [run] = world.ended(world.now(target=target, payload={"hello": "lamp"}))

    assert run.state is RunState.SUCCESS
    assert run.executor_id == "worker"
    assert "lamp" in str(run.result)


def test_a_future_job_does_not_start_before_its_time(world: World) -> None:
    fire = world.ledger.now() + timedelta(seconds=0.5)
    target = {"type": "python", "handler": "builtin.noop"}

    [run] = world.ended(world.submit(Schedule(ScheduleType.FUTURE, fire), target=target))

    assert run.state is RunState.SUCCESS
    assert _started(run) >= run.fire_at


def test_a_command_s_output_is_kept(world: World) -> None:
    target = {"type": "command", "command": "echo to you; echo and you >&2"}

    [run] = world.ended(world.now(target=target))

    assert (run.state, run.stdout, run.stderr) == (RunState.SUCCESS, "to you\n", "and you\n")
    assert run.log_url is not None


def test_a_job_that_fails_is_tried_again_until_its_attempts_are_used_up(world: World) -> None:
    target = {"type": "command", "command": f"{sys.executable} -c 'raise SystemExit(3)'"}

    [run] = world.ended(world.now(target=target, max_retries=2))

    assert (run.state, run.attempt_number) == (RunState.FAILED, 3)
    assert "3" in str(run.error_message)
    attempts = world.ledger.attempts("default", run.run_id)
    assert [attempt.attempt_number for attempt in attempts] == [1, 2, 3]


def test_a_job_after_two_others_runs_when_both_have_ended(world: World) -> None:
    first, second = world.now(), world.now()
    dependent = world.after(first, second)

    runs = {run.job_id: run for run in world.ended(first, second, dependent)}

    assert {run.state for run in runs.values()} == {RunState.SUCCESS}
    started = _started(runs[dependent.job_id])
    assert all(started >= _over(runs[job.job_id]) for job in (first, second))


def test_a_job_after_one_that_failed_is_skipped_and_says_why(world: World) -> None:
    failing = world.now(target={"type": "command", "command": "exit 1"}, max_retries=0)
    dependent = world.after(failing)

    runs = {run.job_id: run for run in world.ended(failing, dependent)}

    skipped = runs[dependent.job_id]
    assert (skipped.state, skipped.reason) == (RunState.SKIPPED, SkipReason.UPSTREAM_FAILED)
    assert "FAILED" in str(skipped.error_message)


def test_a_job_after_one_that_no_worker_began_learns_of_its_end(world: World) -> None:
    fire = world.ledger.now() + timedelta(seconds=0.3)
    expired = world.submit(
        Schedule(ScheduleType.FUTURE, fire), expires_at=fire - timedelta(seconds=0.1)
    )
    dependent = world.after(expired)

    runs = {run.job_id: run for run in world.ended(expired, dependent)}

    assert runs[expired.job_id].reason is SkipReason.EXPIRED
    assert runs[dependent.job_id].state is RunState.SKIPPED
    world.work()
    cached = world.cache.job_statuses([expired.job_id, dependent.job_id])
    assert [b"SKIPPED" in body for body in cached.values()] == [True, True]


def test_an_interval_fires_again_and_again(world: World) -> None:
    start = world.ledger.now().replace(microsecond=0) + timedelta(seconds=1)
    schedule = Schedule(
        ScheduleType.INTERVAL,
        interval_seconds=1,
        start_at=start,
        end_at=start + timedelta(seconds=2),
    )
    job = world.submit(schedule, target={"type": "python", "handler": "builtin.noop"})

    end = world.ledger.now() + timedelta(seconds=PATIENCE)
    runs: list[Run] = []
    while world.ledger.now() < end and len([run for run in runs if run.state.is_final]) < 3:
        world.work()
        runs = world.ledger.runs("default", job.job_id)

    assert [run.state for run in runs] == [RunState.SUCCESS] * 3
    assert len({run.run_id for run in runs}) == 3


def test_a_herd_due_at_one_instant_all_runs_once(world: World) -> None:
    fire = world.ledger.now() + timedelta(seconds=0.3)
    schedule = Schedule(ScheduleType.FUTURE, fire)
    jobs = [
        world.submit(schedule, target={"type": "python", "handler": "builtin.noop"})
        for _ in range(2_000)
    ]

    runs = world.ended(*jobs)

    assert {run.state for run in runs} == {RunState.SUCCESS}
    assert {run.fence for run in runs} == {1}
    assert len(_ids(runs)) == 2_000


def _ids(runs: list[Run]) -> set[UUID]:
    return {run.run_id for run in runs}


def _started(run: Run) -> datetime:
    assert run.start_time is not None
    return run.start_time


def _over(run: Run) -> datetime:
    assert run.end_time is not None
    return run.end_time
