"""Calendars: named days and windows that schedules leave out, or keep to."""

import re
from datetime import date
from http import HTTPStatus
from typing import Any, Final

from lamplighter.contracts.answers import shown_instant
from lamplighter.contracts.http import Request, Response
from lamplighter.contracts.http_checks import FIRST_YEAR, LAST_YEAR
from lamplighter.contracts.http_decode import decode
from lamplighter.contracts.http_errors import CalendarNotFound, InvalidParameter
from lamplighter.contracts.jobs import CalendarBody
from lamplighter.domain.errors import InvalidSchedule
from lamplighter.domain.schedule import Calendar, Window, validate_calendar
from lamplighter.stages.desk import Desk
from lamplighter.stages.once import Occasion, once

# It stands in a path, so nothing that would have to be written differently there.
_NAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}")


def put_calendar(desk: Desk, request: Request) -> Response:
    """The whole calendar. One that says what it said before stays at its version."""
    calendar = _calendar(request.params["name"], decode(request.json(), CalendarBody))

    def answer(_: Occasion) -> Response:
        last = desk.ledger.calendars(request.tenant).get(calendar.name)
        if last is not None and (last.dates, last.windows) == (calendar.dates, calendar.windows):
            return _answer(last)
        return _answer(desk.ledger.save_calendar(request.tenant, calendar))

    return once(desk, request, answer, request.body)


def get_calendars(desk: Desk, request: Request) -> Response:
    found = desk.ledger.calendars(request.tenant)
    return Response(HTTPStatus.OK, {"calendars": [_shown(found[name]) for name in sorted(found)]})


def get_calendar(desk: Desk, request: Request) -> Response:
    name = request.params["name"]
    calendar = desk.ledger.calendars(request.tenant).get(name)
    if calendar is None:
        raise CalendarNotFound(f"no calendar {name[:100]!r}; PUT /calendars/{{name}} makes one")
    return _answer(calendar)


def _calendar(name: str, body: CalendarBody) -> Calendar:
    if not _NAME.fullmatch(name):
        raise InvalidParameter("name", "use letters, digits, - _ and ., 100 at most")
    for day in body.dates:
        _check_year("dates", day)
    for window in body.windows:
        _check_year("windows", window.start)
        _check_year("windows", window.end)
    try:
        return validate_calendar(Calendar(name, dates=body.dates, windows=body.windows))
    except InvalidSchedule as error:
        raise InvalidSchedule(error.field.removeprefix("calendar."), error.fix) from None


def _check_year(field: str, day: date) -> None:
    if not FIRST_YEAR < day.year <= LAST_YEAR:
        raise InvalidSchedule(field, f"give years from {FIRST_YEAR + 1} to {LAST_YEAR}")


def _answer(calendar: Calendar) -> Response:
    return Response(HTTPStatus.OK, _shown(calendar), {"ETag": f'"{calendar.version}"'})


def _shown(calendar: Calendar) -> dict[str, Any]:
    return {
        "name": calendar.name,
        "version": calendar.version,
        "dates": [day.isoformat() for day in calendar.dates],
        "windows": [_shown_window(window) for window in calendar.windows],
    }


def _shown_window(window: Window) -> dict[str, str]:
    """Instants as everywhere; wall times as they were given, without a zone."""
    if window.start.tzinfo is not None:
        return {"start": shown_instant(window.start), "end": shown_instant(window.end)}
    return {"start": window.start.isoformat(), "end": window.end.isoformat()}
