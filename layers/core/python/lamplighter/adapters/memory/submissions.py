"""Submissions: jobs, edges and first runs; and runs beside the schedule."""

from collections.abc import Collection, Sequence
from datetime import datetime
from uuid import UUID

import msgspec

from lamplighter.adapters.memory.books import Books
from lamplighter.adapters.memory.dependents import block, followers, judge_blocked
from lamplighter.adapters.memory.first_fire import place_first_fire
from lamplighter.adapters.memory.graph import keep, settle
from lamplighter.adapters.memory.runs import answer, still_scheduled, write_down
from lamplighter.adapters.memory.slots import hand_on
from lamplighter.adapters.memory.transaction import Transactional
from lamplighter.domain.dependents import cascaded_runs
from lamplighter.domain.errors import IdempotencyConflict, JobEnded
from lamplighter.domain.job import Job, JobStatus, rejected
from lamplighter.domain.policy import ScheduleType
from lamplighter.domain.run import (
    TELL_AGAIN,
    Accepted,
    Due,
    NewRun,
    Recorded,
    Run,
    Submission,
    new_runs,
)
from lamplighter.domain.slots import lane_of


class MemorySubmissions(Transactional):
    def submit(self, submissions: Sequence[Submission]) -> Accepted:
        with self._transaction() as books:
            fresh = _not_yet_known(books, submissions)
            jobs = settle(books, {job_id: each.job for job_id, each in fresh.items()})
            for job in jobs:
                keep(books, _born(job, books.now))
            runs = _first_runs(books, [books.jobs[job.job_id] for job in jobs], fresh)
            judged = judge_blocked(books, [run.run_id for run in runs])
            known = {each.job.job_id for each in submissions} - fresh.keys()
            return Accepted(
                frozenset(fresh),
                still_scheduled(books, runs) + _near(books, known),
                _as_written(jobs, fresh, {run.run_id for run in runs}),
                [answer(run, Recorded.ACCEPTED) for run in judged],
            )

    def reject(self, submissions: Sequence[Submission], reason: str) -> frozenset[UUID]:
        with self._transaction() as books:
            kept = [each for each in submissions if each.job.job_id not in books.jobs]
            for each in kept:
                job = rejected(_born(each.job, books.now), reason)
                books.identities[job.job_id] = (job.tenant, each.fingerprint)
                keep(books, job)
            return frozenset(each.job.job_id for each in kept)

    def add_run(
        self, tenant: str, job_id: UUID, origin: str, fire: datetime, *, cascade: bool = False
    ) -> list[Due]:
        with self._transaction() as books:
            job = books.job(tenant, job_id)
            below = followers(books, [job_id]) if cascade else []
            led = cascaded_runs(job_id, below, origin, [fire])
            runs, fresh = _beside(books, job, origin, [fire])
            write_down(books, led if fresh else [])
            return still_scheduled(books, runs)

    def add_runs(
        self, tenant: str, job_id: UUID, origin: str, fires: Sequence[datetime]
    ) -> list[Due]:
        with self._transaction() as books:
            runs, _ = _beside(books, books.job(tenant, job_id), origin, fires)
            return still_scheduled(books, runs)


def _beside(
    books: Books, job: Job, origin: str, fires: Sequence[datetime]
) -> tuple[list[Run], bool]:
    """A job's runs beside its schedule, and whether some of them were not there yet."""
    if job.status >= JobStatus.CANCELLED:
        raise JobEnded(f"job {job.job_id} has ended; submit a new one")
    runs = [run for fire in fires for run in new_runs(job, fire, origin=origin)]
    fresh = write_down(books, runs)
    if (lane := lane_of(job, origin)) is not None:
        hand_on(books, lane.name)
    return [books.runs[run.run_id] for run in runs], bool(fresh)


def _not_yet_known(books: Books, submissions: Sequence[Submission]) -> dict[UUID, Submission]:
    fresh: dict[UUID, Submission] = {}
    for each in submissions:
        job_id, identity = each.job.job_id, (each.job.tenant, each.fingerprint)
        if books.identities.setdefault(job_id, identity) != identity:
            raise IdempotencyConflict(f"job {job_id} exists with another body; use a new key")
        if job_id not in books.jobs:
            fresh.setdefault(job_id, each)
    return fresh


def _near(books: Books, known: Collection[UUID]) -> list[Due]:
    """What the queue may not have been told of yet."""
    runs = [run for job_id in known for run in books.runs_of_job(job_id) if run.wake_at is None]
    return still_scheduled(books, [r for r in runs if abs(r.fire_at - books.now) <= TELL_AGAIN])


def _born(job: Job, now: datetime) -> Job:
    return msgspec.structs.replace(
        job, status=JobStatus.SCHEDULED, version=1, created_at=now, updated_at=now
    )


def _as_written(
    jobs: Sequence[Job], fresh: dict[UUID, Submission], written: Collection[UUID]
) -> list[NewRun]:
    fires = [(job, fresh[job.job_id].first_fire) for job in jobs if not job.after]
    runs = [run for job, fire in fires if fire is not None for run in new_runs(job, fire)]
    return [run for run in runs if run.run_id in written]


def _first_runs(books: Books, jobs: Sequence[Job], fresh: dict[UUID, Submission]) -> list[Run]:
    runs: list[Run] = []
    for job in jobs:
        given = fresh[job.job_id]
        runs += place_first_fire(books, job, given.first_fire, given.next_fire)
    following = [job for job in jobs if job.schedule.schedule_type is ScheduleType.AFTER]
    return runs + block(books, following)
