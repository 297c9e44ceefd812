"""Named calendars, a new row for every version."""

import msgspec
from psycopg import Cursor
from psycopg.errors import UniqueViolation
from psycopg.types.json import Jsonb

from lamplighter.adapters.postgres.database import Database, Moved, Row
from lamplighter.adapters.postgres.queries import queries
from lamplighter.domain.job import Job
from lamplighter.domain.schedule import Calendar

_SQL = queries("calendars")


class PostgresCalendars:
    _db: Database

    def save_calendar(self, tenant: str, calendar: Calendar) -> Calendar:
        def work(cursor: Cursor[Row]) -> Calendar:
            document = Jsonb(msgspec.to_builtins(calendar))
            params = {"tenant": tenant, "name": calendar.name, "calendar": document}
            try:
                rows = cursor.execute(_SQL["save_calendar"], params).fetchall()
            except UniqueViolation as error:
                raise Moved from error  # somebody saved the same version number: count again
            cursor.execute(_SQL["plan_anew"], {"tenant": tenant, "name": calendar.name})
            return msgspec.structs.replace(calendar, version=rows[0][0])

        return self._db.run(work)

    def calendars(self, tenant: str) -> dict[str, Calendar]:
        return self._db.run(lambda cursor: read_calendars(cursor, tenant))


def read_calendars(cursor: Cursor[Row], tenant: str) -> dict[str, Calendar]:
    rows = cursor.execute(_SQL["calendars"], {"tenant": tenant}).fetchall()
    found = [msgspec.convert(row[0], Calendar) for row in rows]
    return {calendar.name: calendar for calendar in found}


def calendars_of(cursor: Cursor[Row], job: Job) -> dict[str, Calendar]:
    """Those that could matter to this job's fires; most jobs use none, and cost no query."""
    use = job.schedule.calendar
    return read_calendars(cursor, job.tenant) if use.exclude or use.only else {}
