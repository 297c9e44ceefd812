"""Query: what people read. Everything is looked up by tenant, by key, and in bounded pages."""

from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime, timedelta
from http import HTTPStatus
from typing import Annotated, Any
from urllib.parse import urlencode
from uuid import UUID

import msgspec
from msgspec import Meta

from lamplighter.contracts.answers import (
    QUEUED,
    attempt_answer,
    job_answer,
    job_line,
    run_answer,
    shown_instant,
)
from lamplighter.contracts.http import Request, Response
from lamplighter.contracts.http_decode import parameters
from lamplighter.contracts.http_errors import InvalidParameter
from lamplighter.contracts.statuses import cached_answer
from lamplighter.domain.errors import LedgerUnavailable
from lamplighter.domain.job import Job, JobStatus
from lamplighter.domain.policy import ScheduleType
from lamplighter.domain.run import Run
from lamplighter.domain.states import RunState
from lamplighter.ports.ledger_queries import LAST_ID, LONGEST_PAGE, JobFilter, Page, RunFilter
from lamplighter.ports.queue import QueueUnavailable
from lamplighter.stages.desk import Desk
from lamplighter.stages.explain import explain_job, explain_run
from lamplighter.stages.explain_facts import facts_of, fire_by_schedule

Limit = Annotated[int, Meta(ge=1, le=LONGEST_PAGE)]


class _PageQuery(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    cursor: UUID = LAST_ID
    limit: Limit = 100


class _JobsQuery(_PageQuery, kw_only=True):
    status: str | None = None
    schedule_type: ScheduleType | None = None
    pool: str | None = None
    tag: str | None = None
    name: str | None = None


class _RunsQuery(_PageQuery, kw_only=True):
    status: str | None = None
    job_id: UUID | None = None
    pool: str | None = None
    origin: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    planned: bool = False


class _RunsOfJobQuery(_PageQuery):
    planned: bool = False


def get_job(desk: Desk, request: Request) -> Response:
    job = desk.ledger.job(request.tenant, request.id("job_id"))
    body = job_answer(job, desk.show_target)
    fire = fire_by_schedule(desk, job)
    if fire is not None:
        body["next_fire_at"] = shown_instant(fire)
    return Response(HTTPStatus.OK, body, {"ETag": f'"{job.version}"'})


def get_status(desk: Desk, request: Request) -> Response:
    """Of the run whose time came last; of the next one, while there is no such run."""
    job_id = request.id("job_id")
    try:
        job = desk.ledger.job(request.tenant, job_id)
        now = desk.now()
        run = latest_run(desk, job, now)
    except LedgerUnavailable:
        return _stale_status(desk, request.tenant, job_id)
    latest = None if run is None else run_answer(run, now)
    body = {"job_id": job.job_id, "status": job.status.name, "latest_run": latest}
    return Response(HTTPStatus.OK, body)


def _stale_status(desk: Desk, tenant: str, job_id: UUID) -> Response:
    """What the cache remembers of a job's runs, while the ledger is away. Raises as it would.

    Whether the job was paused or cancelled since, nobody knows: its own status is null.
    """
    known = {}
    if desk.cache is not None:
        with suppress(QueueUnavailable):
            known = desk.cache.job_statuses([job_id])
    latest = cached_answer(tenant, job_id, known[job_id]) if job_id in known else None
    if latest is None:
        raise LedgerUnavailable("and the cache knows nothing of this job")
    body = {"job_id": job_id, "status": None, "latest_run": latest, "stale": True}
    return Response(HTTPStatus.OK, body)


def latest_run(desk: Desk, job: Job, now: datetime) -> Run | None:
    where = RunFilter(job.job_id, until=_past_and_present(now))
    begun = desk.ledger.list_runs(job.tenant, where, LAST_ID, 1)
    if begun.items:
        return begun.items[0]
    ahead = desk.ledger.list_runs(job.tenant, RunFilter(job.job_id), LAST_ID, LONGEST_PAGE)
    return ahead.items[-1] if ahead.items else None


def get_runs_of_job(desk: Desk, request: Request) -> Response:
    """A bare array, as the seeds have it; the way to the next page is in `Link`."""
    asked = parameters(dict(request.query), _RunsOfJobQuery)
    job = desk.ledger.job(request.tenant, request.id("job_id"))
    now = desk.now()
    where = RunFilter(job.job_id, until=None if asked.planned else _past_and_present(now))
    page = desk.ledger.list_runs(job.tenant, where, asked.cursor, asked.limit)
    return Response(
        HTTPStatus.OK, [run_answer(run, now) for run in page.items], _link(request, page)
    )


def _past_and_present(now: datetime) -> datetime:
    """Fires before this. The next minutes are written down already, and would hide what was."""
    return now + timedelta(milliseconds=1)


def get_jobs(desk: Desk, request: Request) -> Response:
    asked = parameters(dict(request.query), _JobsQuery)
    where = JobFilter(
        _word("status", asked.status, JobStatus.__members__),
        asked.schedule_type,
        asked.pool,
        asked.tag,
        asked.name,
    )
    page = desk.ledger.list_jobs(request.tenant, where, asked.cursor, asked.limit)
    return _paged(request, page, "jobs", [job_line(job) for job in page.items])


def get_runs(desk: Desk, request: Request) -> Response:
    asked = parameters(dict(request.query), _RunsQuery)
    word = _word("status", asked.status, {**RunState.__members__, QUEUED: RunState.SCHEDULED})
    due = asked.status.upper() == QUEUED if asked.status and word is RunState.SCHEDULED else None
    now = desk.now()
    asks_ahead = asked.planned or asked.since or asked.until or word is RunState.SCHEDULED
    until = asked.until if asks_ahead else _past_and_present(now)
    where = RunFilter(asked.job_id, word, due, asked.pool, asked.origin, asked.since, until)
    page = desk.ledger.list_runs(request.tenant, where, asked.cursor, asked.limit)
    return _paged(request, page, "runs", [run_answer(run, now) for run in page.items])


def get_run(desk: Desk, request: Request) -> Response:
    """Whole: with output, and with every attempt that did not end in success."""
    run = desk.ledger.run(request.tenant, request.id("run_id"))
    attempts = desk.ledger.attempts(request.tenant, run.run_id)
    body = run_answer(run, desk.now()) | {"attempts": [attempt_answer(each) for each in attempts]}
    return Response(HTTPStatus.OK, body)


def get_explain(desk: Desk, request: Request) -> Response:
    job = desk.ledger.job(request.tenant, request.id("job_id"))
    now = desk.now()
    run = latest_run(desk, job, now)
    sentence = explain_job(job, run, facts_of(desk, job, run, now))
    body = {"job_id": job.job_id, "status": job.status.name, "explanation": sentence}
    return Response(HTTPStatus.OK, body | ({} if run is None else {"run_id": run.run_id}))


def get_run_explain(desk: Desk, request: Request) -> Response:
    run = desk.ledger.run(request.tenant, request.id("run_id"))
    job = desk.ledger.job(request.tenant, run.job_id)
    sentence = explain_run(job, run, facts_of(desk, job, run, desk.now()))
    body = {"run_id": run.run_id, "job_id": job.job_id, "explanation": sentence}
    return Response(HTTPStatus.OK, body)


def _word(field: str, given: str | None, known: Mapping[str, Any]) -> Any:
    if given is None:
        return None
    if given.upper() not in known:
        raise InvalidParameter(field, f"choose one of {', '.join(known)}")
    return known[given.upper()]


def _paged(request: Request, page: Page[Any], name: str, items: list[dict[str, Any]]) -> Response:
    body = {name: items, "next_cursor": page.next}
    return Response(HTTPStatus.OK, body, _link(request, page))


def _link(request: Request, page: Page[Any]) -> dict[str, str]:
    if page.next is None:
        return {}
    query = urlencode({**request.query, "cursor": page.next})
    return {"Link": f'<{request.path}?{query}>; rel="next"'}
