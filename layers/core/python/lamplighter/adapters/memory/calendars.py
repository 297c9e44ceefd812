"""Calendars: named, and a new version with every change."""

import msgspec

from lamplighter.adapters.memory.transaction import Transactional
from lamplighter.domain.schedule import Calendar


class MemoryCalendars(Transactional):
    def save_calendar(self, tenant: str, calendar: Calendar) -> Calendar:
        with self._transaction() as books:
            last = books.calendars.get((tenant, calendar.name))
            version = last.version + 1 if last else 1
            saved = msgspec.structs.replace(calendar, version=version)
            books.calendars[tenant, calendar.name] = saved
            return saved

    def calendars(self, tenant: str) -> dict[str, Calendar]:
        with self._transaction() as books:
            return books.calendars_of(tenant)
