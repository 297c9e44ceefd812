"""Jobs and runs as rows, and back. Each fact of a job is in one column or one document."""

from collections.abc import Callable, Iterable, Sequence
from datetime import timedelta
from operator import attrgetter
from typing import Any

import msgspec

from lamplighter.adapters.postgres.arrays import (
    PackedArray,
    bools,
    byte_strings,
    column,
    instants,
    ints,
    jsons,
    texts,
    uuids,
)
from lamplighter.domain.ids import fire_of
from lamplighter.domain.job import Job, JobStatus, Policy
from lamplighter.domain.policy import Overlap, Upstream
from lamplighter.domain.run import Attempt, Due, NewRun, Run
from lamplighter.domain.schedule import Schedule
from lamplighter.domain.slots import SlotKey, SlotKind, slot_keys
from lamplighter.domain.states import RunState, SkipReason

_TAGS_APART = "\x1f"
_NO_POLICY = Policy()
_IN_COLUMNS = ("schedule_type", "schedule_time", "cron_expression")

# What `row_to_job` reads, in its order; `j` is the jobs table.
JOB_COLUMNS = """
    j.job_id, j.tenant, j.name, j.schedule_type, j.status, j.schedule_time, j.cron_expression,
    j.timing, j.payload, j.target, j.max_retries, j.priority, j.pool, j.timeout_seconds,
    j.start_deadline_seconds, j.expires_at, j.overlap, j.ordering_key, j.concurrency_key,
    j.max_concurrency, j.tags, j.policy, j.version, j.created_at, j.updated_at, j.repeats,
    CASE WHEN j.has_upstreams THEN (
        SELECT jsonb_agg(jsonb_strip_nulls(jsonb_build_object(
                   'job_id', d.upstream_id, 'rule', d.rule, 'within_seconds', d.within_seconds))
               ORDER BY d.position)
        FROM job_dependencies AS d WHERE d.job_id = j.job_id) END
"""
JOB_WIDTH = 27

# What `row_to_run` reads, in its order; `r` is the ledger.
RUN_COLUMNS = """
    r.run_id, r.job_id, r.tenant, r.pool, r.origin, r.status, r.priority, r.fence,
    r.attempt_number, r.losses, r.delay_ms, r.created_at, r.modified_time, r.start_time,
    r.end_time, r.excused, r.wake_at, r.executor_id, r.reason, r.error_message, r.missed_to,
    r.missed_count, r.result, r.stdout, r.stderr, r.log_url, r.slotted
"""
RUN_WIDTH = 27


# The columns of a job that are just one of its attributes: how to pack them, and which.
_PLAIN: dict[str, tuple[Callable[[Iterable[Any]], PackedArray], str]] = {
    "job_ids": (uuids, "job_id"),
    "tenants": (texts, "tenant"),
    "names": (texts, "name"),
    "schedule_types": (texts, "schedule.schedule_type._value_"),
    "schedule_times": (instants, "schedule.schedule_time"),
    "cron_expressions": (texts, "schedule.cron_expression"),
    "payloads": (jsons, "payload"),
    "targets": (jsons, "target"),
    "max_retries": (ints, "max_retries"),
    "priorities": (ints, "priority"),
    "pools": (texts, "pool"),
    "timeouts": (ints, "timeout_seconds"),
    "start_deadlines": (ints, "start_deadline_seconds"),
    "expiries": (instants, "expires_at"),
    "overlaps": (texts, "overlap._value_"),
    "ordering_keys": (texts, "ordering_key"),
    "concurrency_keys": (texts, "concurrency_key"),
    "max_concurrencies": (ints, "max_concurrency"),
    "repeats": (bools, "repeats"),
}


def jobs_to_columns(
    jobs: Sequence[Job], fingerprints: Sequence[bytes | None]
) -> dict[str, PackedArray]:
    columns = {name: column(pack, map(attrgetter(at), jobs)) for name, (pack, at) in _PLAIN.items()}
    tags = (_TAGS_APART.join(job.tags) if job.tags else None for job in jobs)
    policies = (None if job.policy == _NO_POLICY else job.policy for job in jobs)
    return columns | {
        "timings": column(jsons, (_timing(job.schedule) for job in jobs)),
        "have_upstreams": bools(bool(job.after) for job in jobs),
        "tags": column(texts, tags),
        "policies": column(jsons, policies),
        "fingerprints": column(byte_strings, fingerprints),
    }


def _timing(schedule: Schedule) -> dict[str, Any] | None:
    """The fields of a schedule that have no column of their own; None when all are default."""
    kind, time, cron = schedule.schedule_type, schedule.schedule_time, schedule.cron_expression
    if schedule == Schedule(kind, time, cron):
        return None
    rest: dict[str, Any] = msgspec.to_builtins(schedule)
    for name in _IN_COLUMNS:
        rest.pop(name, None)
    return rest


def row_to_job(row: Sequence[Any]) -> Job:
    timing: dict[str, Any] = {
        "schedule_type": row[3],
        "schedule_time": row[5],
        "cron_expression": row[6],
        **(row[7] or {}),
    }
    return Job(
        job_id=row[0],
        tenant=row[1],
        name=row[2],
        schedule=msgspec.convert(timing, Schedule),
        status=JobStatus(row[4]),
        payload=row[8],
        target=row[9],
        max_retries=row[10],
        priority=row[11],
        pool=row[12],
        timeout_seconds=row[13],
        start_deadline_seconds=row[14],
        expires_at=row[15],
        overlap=Overlap(row[16]),
        ordering_key=row[17],
        concurrency_key=row[18],
        max_concurrency=row[19],
        tags=tuple(row[20] or ()),
        policy=msgspec.convert(row[21] or {}, Policy),
        after=msgspec.convert(row[26] or [], tuple[Upstream, ...]),
        version=row[22],
        created_at=row[23],
        updated_at=row[24],
        repeats=row[25],
    )


def row_to_run(row: Sequence[Any]) -> Run:
    fire = fire_of(row[0])
    return Run(
        run_id=row[0],
        job_id=row[1],
        tenant=row[2],
        pool=row[3],
        origin=row[4],
        state=RunState(row[5]),
        fire_at=fire,
        due_at=fire + timedelta(milliseconds=row[10]),
        priority=row[6],
        fence=row[7],
        attempt_number=row[8],
        losses=row[9],
        created_at=row[11],
        modified_time=row[12],
        start_time=row[13],
        end_time=row[14],
        excused=row[15],
        wake_at=row[16],
        executor_id=row[17],
        reason=None if row[18] is None else SkipReason(row[18]),
        error_message=row[19],
        missed_to=row[20],
        missed_count=row[21],
        result=row[22],
        stdout=row[23],
        stderr=row[24],
        log_url=row[25],
    )


def row_to_due(row: Sequence[Any]) -> Due:
    """run_id, tenant, pool, priority, delay_ms, fence; then, for a woken run, its wake-up time."""
    due = fire_of(row[0]) + timedelta(milliseconds=row[4])
    if len(row) > 6 and row[6] is not None:
        due = max(due, row[6])
    return Due(row[0], row[1], row[2], row[3], due, row[5])


def runs_to_columns(runs: Sequence[Run], slotted: Sequence[bool]) -> dict[str, Any]:
    """Everything of a run that can change, for `write_runs`."""
    return {
        "run_ids": uuids(run.run_id for run in runs),
        "states": ints(run.state for run in runs),
        "fences": ints(run.fence for run in runs),
        "attempt_numbers": ints(run.attempt_number for run in runs),
        "losses": ints(run.losses for run in runs),
        "slotted": bools(slotted),
        "excused": bools(run.excused for run in runs),
        "wake_ats": instants(run.wake_at for run in runs),
        "start_times": instants(run.start_time for run in runs),
        "end_times": instants(run.end_time for run in runs),
        "executor_ids": texts(run.executor_id for run in runs),
        "reasons": ints(run.reason for run in runs),
        "error_messages": texts(run.error_message for run in runs),
        "log_urls": texts(run.log_url for run in runs),
        "results": jsons(run.result for run in runs),
        "stdouts": texts(run.stdout for run in runs),
        "stderrs": texts(run.stderr for run in runs),
    }


def new_runs_to_columns(runs: Sequence[NewRun]) -> dict[str, PackedArray]:
    return {
        "run_ids": uuids(map(attrgetter("run_id"), runs)),
        "run_job_ids": uuids(map(attrgetter("job.job_id"), runs)),
        "run_tenants": texts(map(attrgetter("job.tenant"), runs)),
        "run_pools": texts(map(attrgetter("pool"), runs)),
        "run_origins": texts(map(attrgetter("origin"), runs)),
        "run_priorities": ints(map(attrgetter("job.priority"), runs)),
        "run_states": ints(map(attrgetter("state"), runs)),
        "run_slotted": bools(_is_in_line(run) for run in runs),
        "run_delays": ints(map(attrgetter("delay_ms"), runs)),
        "run_fires": instants(map(attrgetter("fire_at"), runs)),
        "run_patience": ints(map(attrgetter("job.policy.blocked_seconds"), runs)),
    }


def queue_places(runs: Sequence[NewRun]) -> dict[str, PackedArray] | None:
    """The places in line that runs have from the start, for `join_queue`; None: there are none."""
    places = [(key, run) for run in runs for key in _lines(run)]
    if not places:
        return None
    return {
        "keys": texts(key.name for key, _ in places),
        "fires": instants(run.fire_at for _, run in places),
        "run_ids": uuids(run.run_id for _, run in places),
        "limits": ints(key.limit for key, _ in places),
    }


def is_ordered(job: Job) -> bool:
    return job.ordering_key is not None or job.overlap is Overlap.QUEUE


def _is_in_line(run: NewRun) -> bool:
    return is_ordered(run.job) or run.state is RunState.PARKED


def _lines(run: NewRun) -> list[SlotKey]:
    if not _is_in_line(run):
        return []
    kind = SlotKind.LANE if run.state is RunState.PARKED else SlotKind.ORDER
    return [key for key in slot_keys(run.job, run.pool, run.origin) if key.kind is kind]


def attempts_to_columns(attempts: Sequence[Attempt], tenants: Sequence[str]) -> dict[str, Any]:
    return {
        "run_ids": uuids(attempt.run_id for attempt in attempts),
        "fences": ints(attempt.fence for attempt in attempts),
        "tenants": texts(tenants),
        "attempt_numbers": ints(attempt.attempt_number for attempt in attempts),
        "verdicts": texts(attempt.verdict for attempt in attempts),
        "started_ats": instants(attempt.started_at for attempt in attempts),
        "ended_ats": instants(attempt.ended_at for attempt in attempts),
        "executor_ids": texts(attempt.executor_id for attempt in attempts),
        "error_messages": texts(attempt.error_message for attempt in attempts),
    }
