"""Reschedule: another definition for the same job, with everything that hangs on it."""

from datetime import datetime
from uuid import UUID

import msgspec

from lamplighter.adapters.memory import slots
from lamplighter.adapters.memory.books import Books
from lamplighter.adapters.memory.dependents import (
    block,
    dependents,
    drop_orphans,
    followers,
    judge_blocked,
)
from lamplighter.adapters.memory.first_fire import place_first_fire
from lamplighter.adapters.memory.graph import keep, settle
from lamplighter.adapters.memory.past import settle_past
from lamplighter.adapters.memory.runs import remove
from lamplighter.adapters.memory.transaction import Transactional
from lamplighter.domain.dependents import follow, upstream_ids
from lamplighter.domain.errors import InvalidJob, JobEnded, VersionConflict
from lamplighter.domain.ids import BY_SCHEDULE
from lamplighter.domain.job import Job, JobStatus
from lamplighter.domain.lag import Ahead, Edit
from lamplighter.domain.policy import ScheduleType
from lamplighter.domain.run import Run
from lamplighter.domain.states import RunState

_TO_COME = (RunState.SCHEDULED, RunState.BLOCKED)
_WITH_WORKER = (RunState.RUNNING, RunState.CANCELLING)


class MemoryReschedule(Transactional):
    def reschedule(
        self,
        job: Job,
        *,
        expected_version: int,
        first_fire: datetime | None,
        next_fire: datetime | None,
    ) -> Job:
        with self._transaction() as books:
            before = _changeable(books, job, expected_version)
            after = _succeed(before, job, books.now)
            after = _in_graph(books, before, after)
            _check_dependents(books, before, after)
            past = settle_past(books, before)
            edit = Edit(before.schedule, after.schedule, past, Ahead(first_fire, next_fire))
            ahead = edit.ahead(books.now, books.calendars_of(after.tenant))
            keep(books, after)
            _replace_future(books, after, ahead)
            return after


def _changeable(books: Books, job: Job, expected_version: int) -> Job:
    before = books.job(job.tenant, job.job_id)
    if before.status >= JobStatus.CANCELLED:
        raise JobEnded(f"job {job.job_id} has ended; submit a new one")
    if before.version != expected_version:
        raise VersionConflict(
            f"job {job.job_id} is at version {before.version} by now; read it again, then change it"
        )
    return before


def _succeed(before: Job, job: Job, now: datetime) -> Job:
    return msgspec.structs.replace(
        job,
        status=before.status,
        version=before.version + 1,
        created_at=before.created_at,
        updated_at=now,
    )


def _in_graph(books: Books, before: Job, after: Job) -> Job:
    """Edges that stay as they are forbid no edit, even if an upstream was cancelled since."""
    if before.after != after.after:
        return settle(books, {after.job_id: after})[0]
    return follow(after, [books.jobs[up] for up in upstream_ids(after)])


def _check_dependents(books: Books, before: Job, after: Job) -> None:
    """Those that wait for this job were accepted for what it was: they must still fit."""
    below = dependents(books, after.job_id)
    if below and before.repeats != after.repeats:
        raise InvalidJob(
            "schedule_type",
            f"{below[0].name!r} waits for this job, so it cannot change between firing once and "
            "repeating; submit a new job, or take it out of the other's upstreams first",
        )
    for job in below:
        follow(job, [_present(books, after, up) for up in upstream_ids(job)])


def _present(books: Books, edited: Job, job_id: UUID) -> Job:
    return edited if job_id == edited.job_id else books.jobs[job_id]


def _replace_future(books: Books, job: Job, ahead: Ahead) -> None:
    for run in books.runs_of_job(job.job_id):
        if _is_to_come(run, books.now):
            remove(books, run)
    below = followers(books, [job.job_id])
    following = [job] if job.schedule.schedule_type is ScheduleType.AFTER else []
    place_first_fire(books, job, ahead.first_fire, ahead.next_fire)
    drop_orphans(books, [*following, *below])
    blocked = block(books, [*following, *below])
    # What is due stays, and may wait for somebody else by now, or for nobody; what others have
    # ahead is as good as written anew.
    due = books.runs_of_job(job.job_id)
    coming = [run for each in below for run in books.runs_of_job(each.job_id)]
    coming = [run for run in coming if run.fire_at > books.now]
    judge_blocked(books, [run.run_id for run in (*due, *blocked, *coming)])
    _rekey(books, job)


def _is_to_come(run: Run, now: datetime) -> bool:
    waits = run.state in _TO_COME and run.start_time is None
    return waits and run.fire_at > now and run.origin == BY_SCHEDULE


def _rekey(books: Books, job: Job) -> None:
    """Whoever waits for slots does so by the keys and limits of now."""
    for run in books.runs_of_job(job.job_id):
        if not run.state.is_final and run.state not in _WITH_WORKER:
            slots.rekey(books, job, run)
