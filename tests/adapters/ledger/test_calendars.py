"""Calendars: named, versioned, and each tenant's own."""

from datetime import UTC, date, datetime

from lamplighter.domain.schedule import Calendar, CalendarUse, Window
from lamplighter.ports.ledger import Ledger
from tests.adapters.ledger.builders import OTHER_TENANT, TENANT, hourly
from tests.adapters.ledger.play import Play, id_of
from tests.adapters.ledger.stores import on_every_version

CHRISTMAS = date(2026, 12, 25)
SALE = Window(datetime(2026, 11, 27, tzinfo=UTC), datetime(2026, 11, 30, tzinfo=UTC))
WALL = Window(datetime(2026, 11, 27, 9, 0), datetime(2026, 11, 27, 17, 30))  # noqa: DTZ001 - wall time is meant


@on_every_version
def test_a_calendar_is_read_back_as_it_was_saved(ledger: Ledger) -> None:
    saved = ledger.save_calendar(TENANT, Calendar("days", 1, (CHRISTMAS,), (SALE, WALL)))
    assert saved == Calendar("days", 1, (CHRISTMAS,), (SALE, WALL))
    assert ledger.calendars(TENANT) == {"days": saved}


def test_every_change_is_a_new_version_and_the_newest_counts(ledger: Ledger) -> None:
    ledger.save_calendar(TENANT, Calendar("days", dates=(CHRISTMAS,)))
    second = ledger.save_calendar(TENANT, Calendar("days", version=1, windows=(SALE,)))
    other = ledger.save_calendar(TENANT, Calendar("other", version=9, dates=(CHRISTMAS,)))
    assert (second.version, other.version) == (2, 1)
    assert ledger.calendars(TENANT) == {"days": second, "other": other}


def test_a_change_lets_the_schedules_that_use_it_be_planned_anew(play: Play) -> None:
    far = play.at(86_400)
    jobs = {
        word: hourly(far, timing={"calendar": use})
        for word, use in (
            ("excludes", CalendarUse(exclude=("other", "days"))),
            ("only", CalendarUse(only=("days",))),
            ("another", CalendarUse(exclude=("other",))),
            ("none", CalendarUse()),
        )
    }
    foreign = hourly(far, timing={"calendar": CalendarUse(only=("days",))}, tenant=OTHER_TENANT)
    play.submit(*jobs.values(), foreign)
    before = play.at()

    play.ledger.save_calendar(TENANT, Calendar("days", dates=(CHRISTMAS,)))

    due = play.ledger.due_schedules(play.at(1), 10)
    assert {each.job.job_id for each in due} == {id_of(jobs["excludes"]), id_of(jobs["only"])}
    assert all(before <= each.next_fire_at <= play.at() for each in due)


def test_tenants_do_not_see_each_others_calendars(ledger: Ledger) -> None:
    mine = ledger.save_calendar(TENANT, Calendar("days", dates=(CHRISTMAS,)))
    theirs = ledger.save_calendar(OTHER_TENANT, Calendar("days", windows=(SALE,)))
    assert theirs.version == 1
    assert ledger.calendars(TENANT) == {"days": mine}
    assert ledger.calendars(OTHER_TENANT) == {"days": theirs}
    assert ledger.calendars("nobody") == {}
