"""Calendars: named, and a new version with every change."""

import msgspec

from lamplighter.adapters.memory.books import Books
from lamplighter.adapters.memory.first_fire import stand_at
from lamplighter.adapters.memory.transaction import Transactional
from lamplighter.domain.ids import epoch_ms, instant_of
from lamplighter.domain.schedule import Calendar


class MemoryCalendars(Transactional):
    def save_calendar(self, tenant: str, calendar: Calendar) -> Calendar:
        with self._transaction() as books:
            last = books.calendars.get((tenant, calendar.name))
            version = last.version + 1 if last else 1
            saved = msgspec.structs.replace(calendar, version=version)
            books.calendars[tenant, calendar.name] = saved
            _plan_anew(books, tenant, calendar.name)
            return saved

    def calendars(self, tenant: str) -> dict[str, Calendar]:
        with self._transaction() as books:
            return books.calendars_of(tenant)


def _plan_anew(books: Books, tenant: str, name: str) -> None:
    """Schedules that use it: a change may have given back days before the fire they stand at."""
    for job_id, standing in list(books.schedules.items()):
        job = books.jobs[job_id]
        use = job.schedule.calendar
        uses = job.tenant == tenant and name in (*use.exclude, *use.only)
        if uses and standing.next_fire_at > books.now:
            stand_at(books, job, instant_of(epoch_ms(books.now)))
