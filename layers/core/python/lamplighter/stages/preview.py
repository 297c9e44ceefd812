"""When a schedule fires: of a job that exists, or of one that somebody thinks about."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from heapq import merge
from http import HTTPStatus
from itertools import groupby, islice
from typing import Annotated, Any, Final
from uuid import UUID

import msgspec
from msgspec import Meta

from lamplighter.contracts.answers import shown_instant, transition_answer
from lamplighter.contracts.http import Request, Response
from lamplighter.contracts.http_checks import check_instant
from lamplighter.contracts.http_decode import decode, parameters
from lamplighter.contracts.http_timing import schedule_of
from lamplighter.contracts.jobs import Given, PreviewBody, given
from lamplighter.domain.errors import InvalidSchedule
from lamplighter.domain.ids import MILLISECOND
from lamplighter.domain.job import Job, JobStatus
from lamplighter.domain.policy import ScheduleType
from lamplighter.domain.schedule import Schedule, fires, transitions, validate
from lamplighter.stages.desk import Calendars, Desk

# Clocks change about twice a year; further ahead nobody knows the rules anyway.
_CLOCKS_SEEN: Final = timedelta(days=3 * 366)
_MOST_UPSTREAMS: Final = 100


class _FiresQuery(msgspec.Struct, forbid_unknown_fields=True):
    count: Annotated[int, Meta(ge=1, le=1000)] = 10
    after: datetime | None = None


def post_preview(desk: Desk, request: Request) -> Response:
    body = decode(request.json(), PreviewBody)
    after = _instant("after", body.after) or desk.now()
    until = _instant("until", body.until)
    schedule = schedule_of(given(body))
    if schedule.schedule_type is ScheduleType.AFTER:
        raise InvalidSchedule("schedule_type", "a job that runs after others has no fires to show")
    calendars = desk.calendars(request.tenant, schedule)
    kept = validate(schedule, now=after, calendars=calendars)
    # What is anchored at the moment of submission fires at that moment, too.
    since = after if kept == schedule else after - MILLISECOND
    found = list(fires(kept, since, until, body.count, calendars))
    return Response(HTTPStatus.OK, _shown(found, [kept], after))


def get_fires(desk: Desk, request: Request) -> Response:
    """The coming fires of a job; of one that runs after others, theirs."""
    asked = parameters(dict(request.query), _FiresQuery)
    after = _instant("after", asked.after) or desk.now()
    job = desk.ledger.job(request.tenant, request.id("job_id"))
    clocks = [] if job.status >= JobStatus.CANCELLED else _clocks(desk, job)
    found = list(islice(_merged(desk, request.tenant, clocks, after), asked.count))
    body = {"job_id": job.job_id, "status": job.status.name, **_shown(found, clocks, after)}
    return Response(HTTPStatus.OK, body)


def _clocks(desk: Desk, job: Job) -> list[Schedule]:
    """The schedules that make a job fire: its own, or those at the top of its graph."""
    found: list[Schedule] = []
    ahead, seen = [job], {job.job_id}
    while ahead and len(seen) <= _MOST_UPSTREAMS:
        each = ahead.pop()
        if each.schedule.schedule_type is not ScheduleType.AFTER:
            found.append(each.schedule)
            continue
        above = {UUID(edge.job_id) for edge in each.after} - seen
        seen |= above
        ahead += [desk.ledger.job(job.tenant, job_id) for job_id in above]
    return found


def _merged(desk: Desk, tenant: str, clocks: list[Schedule], after: datetime) -> Iterator[datetime]:
    calendars: dict[Schedule, Calendars] = {
        clock: desk.calendars(tenant, clock) for clock in clocks
    }
    lines = [fires(clock, after, calendars=calendars[clock]) for clock in clocks]
    return (fire for fire, _ in groupby(merge(*lines)))


def _shown(found: list[datetime], clocks: list[Schedule], after: datetime) -> dict[str, Any]:
    until = min(found[-1], after + _CLOCKS_SEEN) if found else after
    changes = [each for clock in clocks for each in transitions(clock, after, until)]
    return {
        "fires": [shown_instant(fire) for fire in found],
        "transitions": [transition_answer(each) for each in changes],
    }


def _instant(field: str, moment: Given[datetime]) -> datetime | None:
    return check_instant(field, moment) if isinstance(moment, datetime) else None
