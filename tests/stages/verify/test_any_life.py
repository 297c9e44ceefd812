"""Random lives over the real stages: whatever people and workers do, the checker finds nothing."""

import random
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from lamplighter.domain.errors import LamplighterError
from lamplighter.domain.job import Job, Policy
from lamplighter.domain.policy import (
    Backoff,
    CatchUpPolicy,
    EdgeRule,
    OnAmbiguous,
    Overlap,
    TriggerRule,
    Upstream,
)
from lamplighter.domain.run import Claimed, Verdict
from lamplighter.domain.schedule import fires_between
from lamplighter.domain.states import RunState
from lamplighter.stages.sweep import SILENCE
from tests.stages.verify.world import CATCH_ALL, CATCH_NONE, MINUTE, NOON, TENANT, World, every

SECOND = timedelta(seconds=1)
STEPS = 150


class Life:
    def __init__(self, seed: int) -> None:
        self.dice = random.Random(seed)  # noqa: S311 - the same life for the same seed
        self.world = World()
        self.jobs: list[Job] = []
        self.begun: list[Claimed] = []

    def live(self) -> None:
        for _ in range(STEPS):
            act = self.dice.choice(ACTS)
            with suppress(LamplighterError):  # refused, as it may be: nothing has happened
                act(self)
            self.world.sleep(self.dice.choice([0, 1, 7, 20, 60]) * SECOND)
            if self.dice.random() < 0.5:  # else it lags, and whoever edits a job meets that
                self.world.plan()

    def settle(self) -> None:
        """Everything comes to its end."""
        for claimed in self.begun:
            self.world.end(claimed)
        for _ in range(12):
            self.world.ledger.requeue_lost(SILENCE)
            self.world.pass_minutes(1)

    def policy(self) -> Policy:
        dice = self.dice
        return Policy(
            backoff=Backoff(base_seconds=5, jitter=False),
            trigger_rule=dice.choice(list(TriggerRule)),
            on_ambiguous=dice.choice([OnAmbiguous.RETRY, OnAmbiguous.RETRY, OnAmbiguous.HOLD]),
            fan_out=dice.choice([(), (), ("a", "b")]),
            blocked_seconds=600,
        )

    def fields(self) -> dict[str, Any]:
        dice = self.dice
        limit = dice.choice([None, None, 1, 2])
        return {
            "job_id": UUID(int=dice.getrandbits(128)),
            "policy": self.policy(),
            "overlap": dice.choice(list(Overlap)),
            "ordering_key": dice.choice([None, None, None, "line"]),
            "max_concurrency": limit,
            "concurrency_key": dice.choice([None, "db"]) if limit else None,
            "max_retries": dice.choice([0, 1, 3]),
            "start_deadline_seconds": dice.choice([None, None, 90]),
        }

    def submit(self) -> None:
        timing: dict[str, Any] = {
            "catch_up": self.dice.choice([CatchUpPolicy(), CATCH_ALL, CATCH_NONE]),
            "jitter_seconds": self.dice.choice([0, 0, 200]),
        }
        kind = self.dice.choice(["cron", "every", "once", "soon"])
        if kind == "cron":
            text = self.dice.choice(["* * * * *", "*/2 * * * *", "*/30 * * * * *"])
            self.jobs.append(self.world.cron(text, timing=timing, **self.fields()))
        elif kind == "every":
            self.jobs.append(self.world.submit(every(75, **timing), **self.fields()))
        else:
            at = None if kind == "once" else self.world.clock() + 3 * MINUTE
            self.jobs.append(self.world.once(at, **self.fields()))

    def follow(self) -> None:
        some = self.dice.sample(self.jobs, k=min(len(self.jobs), self.dice.choice([1, 2])))
        if some:
            self.jobs.append(self.world.after(*some, **self.fields()))

    def wait_for(self) -> None:
        if self.jobs:
            rule = self.dice.choice([EdgeRule.LATEST_SUCCESS, EdgeRule.NEXT_AFTER])
            within = 600 if rule is EdgeRule.LATEST_SUCCESS else None
            edge = Upstream(str(self.a_job().job_id), rule, within)
            self.jobs.append(self.world.cron(after=(edge,), **self.fields()))

    def a_job(self) -> Job:
        return self.dice.choice(self.jobs or [self.world.once()])

    def edit(self) -> None:
        job = self.world.ledger.job(TENANT, self.a_job().job_id)
        if job.schedule.schedule_type.is_recurring and self.dice.random() < 0.5:
            self.world.edit(job, every(self.dice.choice([30, 100])))
        elif job.schedule.schedule_type.is_recurring:
            self.world.edit(job, **{**self.fields(), "job_id": job.job_id})

    def pause(self) -> None:
        self.world.ledger.pause(TENANT, self.a_job().job_id)

    def resume(self) -> None:
        self.world.ledger.resume(TENANT, self.a_job().job_id)

    def cancel_job(self) -> None:
        self.world.ledger.cancel_job(TENANT, self.a_job().job_id)

    def cancel_run(self) -> None:
        runs = self.world.runs(self.a_job())
        if runs:
            self.world.ledger.cancel_runs(TENANT, [self.dice.choice(runs).run_id])

    def run_now(self) -> None:
        origin, cascade = f"now:{self.dice.random()}", self.dice.random() < 0.5
        job_id, fire = self.a_job().job_id, self.world.clock()
        self.world.ledger.add_run(TENANT, job_id, origin, fire, cascade=cascade)

    def backfill(self) -> None:
        job = self.world.ledger.job(TENANT, self.a_job().job_id)
        if job.schedule.schedule_type.is_recurring:
            budget = self.dice.choice([1, 2])
            origin = f"backfill:{self.dice.getrandbits(32):x}:at_once={budget}"
            for fire in fires_between(job.schedule, NOON - 5 * MINUTE, NOON):
                self.world.ledger.add_run(TENANT, job.job_id, origin, fire)

    def work(self) -> None:
        due = self.world.due()
        some = self.dice.sample(due, k=self.dice.randint(0, min(len(due), 8)))
        self.begun += self.world.claim(*some, worker=self.dice.choice(["w1", "w2"]))

    def finish(self) -> None:
        self.dice.shuffle(self.begun)
        verdicts = [*Verdict, Verdict.SUCCESS, Verdict.SUCCESS, Verdict.SUCCESS]
        for _ in range(self.dice.randint(0, len(self.begun))):
            claimed = self.begun.pop()
            self.world.end(claimed, self.dice.choice(verdicts))
            self.world.ledger.free_dependents([claimed.run_id])

    def sweep(self) -> None:
        self.world.ledger.heartbeat(self.dice.choice(["w1", "w2"]), "default", 1)
        self.world.ledger.requeue_lost(SILENCE)
        self.world.ledger.settle_overdue()

    def decide(self) -> None:
        for run in self.world.runs(self.a_job()):
            if run.state is RunState.HELD:
                state = self.dice.choice([RunState.SCHEDULED, RunState.SUCCESS, RunState.FAILED])
                self.world.ledger.decide_held(TENANT, run.run_id, state)

    def outage(self) -> None:
        if self.dice.random() < 0.2:
            self.world.sleep(self.dice.choice([3, 90]) * MINUTE)


ACTS: list[Callable[[Life], None]] = [
    *[Life.submit, Life.follow, Life.wait_for, Life.edit, Life.pause, Life.resume] * 1,
    *[Life.cancel_job, Life.cancel_run, Life.run_now, Life.decide, Life.outage, Life.backfill],
    *[Life.work, Life.work, Life.work, Life.finish, Life.finish, Life.finish, Life.sweep],
]


@pytest.mark.parametrize("seed", range(3))
def test_no_life_breaks_a_promise(seed: int) -> None:
    life = Life(seed)
    life.live()

    midway = life.world.verify(grace=timedelta(days=2))
    life.settle()
    report = life.world.verify()

    assert midway.findings == []
    assert report.findings == []
    assert report.runs > 20
