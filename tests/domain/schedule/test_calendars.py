"""Calendars: what is excluded does not exist, and dates are the schedule's own."""

from datetime import UTC, date, datetime, timedelta

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamplighter.domain.errors import InvalidSchedule
from lamplighter.domain.schedule import (
    Calendar,
    CalendarUse,
    Schedule,
    Window,
    count_fires,
    fires,
    fires_between,
    next_fire,
    validate_calendar,
)
from lamplighter.domain.schedule.timetable import Cron
from tests.domain.schedule.helpers import calls, cron, every, laws, short, utc
from tests.domain.schedule.raw_zones import pinned

HOLIDAYS = Calendar("holidays", dates=(date(2025, 12, 25), date(2025, 12, 26)))


def wall(text: str) -> datetime:
    return datetime.fromisoformat(text)


def excluding(*names: str) -> CalendarUse:
    return CalendarUse(exclude=names)


def only(*names: str) -> CalendarUse:
    return CalendarUse(only=names)


def shown(schedule: Schedule, after: str, count: int, *calendars: Calendar) -> list[str]:
    return [short(fire) for fire in fires(schedule, utc(after), limit=count, calendars=calendars)]


def test_an_excluded_fire_does_not_exist() -> None:
    schedule = cron("0 9 * * *", calendar=excluding("holidays"))
    assert shown(schedule, "2025-12-24T00:00", 2, HOLIDAYS) == [
        "2025-12-24 09:00",
        "2025-12-27 09:00",
    ]


def test_limited_to_a_calendar_nothing_fires_outside() -> None:
    schedule = cron("0 9 * * *", calendar=only("holidays"))
    assert shown(schedule, "2025-01-01T00:00", 9, HOLIDAYS) == [
        "2025-12-25 09:00",
        "2025-12-26 09:00",
    ]


def test_dates_are_days_of_the_schedules_zone() -> None:
    schedule = cron("0 */6 * * *", "Asia/Tokyo", calendar=only("holidays"))
    assert shown(schedule, "2025-01-01T00:00", 9, HOLIDAYS) == [
        "2025-12-24 15:00",
        "2025-12-24 21:00",
        "2025-12-25 03:00",
        "2025-12-25 09:00",
        "2025-12-25 15:00",
        "2025-12-25 21:00",
        "2025-12-26 03:00",
        "2025-12-26 09:00",
    ]


def test_an_interval_has_calendars_too() -> None:
    schedule = every(43_200, "2025-12-24T12:00", calendar=excluding("holidays"))
    assert shown(schedule, "2025-12-01T00:00", 2, HOLIDAYS) == [
        "2025-12-24 12:00",
        "2025-12-27 00:00",
    ]


def test_a_window_of_instants_is_the_same_for_everybody() -> None:
    freeze = Calendar("freeze", windows=(Window(utc("2025-06-01T10:00"), utc("2025-06-01T12:00")),))
    for zone in ("UTC", "Asia/Tokyo"):
        schedule = cron("0 * * * *", zone, calendar=excluding("freeze"))
        assert shown(schedule, "2025-06-01T08:30", 3, freeze) == [
            "2025-06-01 09:00",
            "2025-06-01 12:00",
            "2025-06-01 13:00",
        ]


def test_a_window_without_offsets_is_read_off_the_schedules_clock() -> None:
    window = Window(wall("2025-06-01T10:00"), wall("2025-06-01T12:00"))
    schedule = cron("0 * * * *", "Europe/Berlin", calendar=only("open"))
    assert shown(schedule, "2025-01-01T00:00", 9, Calendar("open", windows=(window,))) == [
        "2025-06-01 08:00",
        "2025-06-01 09:00",
    ]


def test_only_and_exclude_together() -> None:
    open_days = Calendar("open", dates=tuple(date(2025, 12, day) for day in range(24, 28)))
    use = CalendarUse(only=("open",), exclude=("holidays",))
    schedule = cron("0 9 * * *", calendar=use)
    assert shown(schedule, "2025-01-01T00:00", 9, open_days, HOLIDAYS) == [
        "2025-12-24 09:00",
        "2025-12-27 09:00",
    ]


def test_the_newest_version_speaks_and_a_mapping_will_do() -> None:
    newer = Calendar("holidays", version=2, dates=(date(2025, 12, 24),))
    schedule = cron("0 9 * * *", calendar=excluding("holidays"))
    for given_ones in ((HOLIDAYS, newer), (newer, HOLIDAYS), {"holidays": newer}):
        fire = next_fire(schedule, utc("2025-12-23T12:00"), given_ones)
        assert fire == utc("2025-12-25T09:00")


def test_a_fire_shifted_out_of_a_day_belongs_to_the_day_it_happens_on() -> None:
    schedule = cron("0 9 * * *", "Pacific/Apia", calendar=excluding("new-year"))
    closed = Calendar("new-year", dates=(date(2011, 12, 31),))
    assert shown(schedule, "2011-12-29T00:00", 2, closed) == [
        "2011-12-29 19:00",
        "2011-12-31 19:00",
    ]


def test_a_day_that_begins_twice_is_excluded_twice() -> None:
    # In St. John's the clock went from 00:01 on the 2nd back to 23:01 on the 1st.
    closed = Calendar("closed", dates=(date(2008, 11, 2),))
    schedule = cron("* * * * *", "America/St_Johns", calendar=excluding("closed"))
    found = fires_between(
        schedule, utc("2008-11-02T02:28"), utc("2008-11-02T03:32"), calendars=[closed]
    )
    assert [short(found[1]), short(found[2]), short(found[-1])] == [
        "2008-11-02 02:29",
        "2008-11-02 02:31",
        "2008-11-02 03:29",
    ]


def test_a_closed_year_is_stepped_over_not_walked(monkeypatch: pytest.MonkeyPatch) -> None:
    closed = Calendar("closed", windows=(Window(utc("2025-01-01"), utc("2026-01-01")),))
    schedule = cron("* * * * * *", calendar=excluding("closed"))
    searched = calls(monkeypatch, Cron, "_search")
    assert next_fire(schedule, utc("2025-01-01"), [closed]) == utc("2026-01-01")
    assert len(searched) <= 3


def test_a_calendar_that_nobody_gave_is_missed() -> None:
    with pytest.raises(InvalidSchedule, match="there is no calendar 'holidays'; create it first"):
        next_fire(cron("0 9 * * *", calendar=excluding("holidays")), utc("2025-01-01"))


@laws(100)
@given(
    st.lists(st.dates(date(2025, 3, 1), date(2025, 4, 30)), min_size=1, max_size=9),
    st.sampled_from(["Europe/Berlin", "Africa/Cairo", "Australia/Lord_Howe", "UTC"]),
    st.booleans(),
)
def test_against_a_look_at_every_fire(days: list[date], zone: str, excludes: bool) -> None:
    chosen = Calendar("days", dates=tuple(days))
    use = excluding("days") if excludes else only("days")
    start, end = datetime(2025, 2, 25, tzinfo=UTC), datetime(2025, 5, 5, tzinfo=UTC)
    free = fires_between(cron("0 */3 * * *", zone), start, end)
    expected = [fire for fire in free if (fire.astimezone(pinned(zone)).date() in days) != excludes]
    schedule = cron("0 */3 * * *", zone, calendar=use)
    assert fires_between(schedule, start, end, calendars=[chosen]) == expected
    assert count_fires(schedule, start, end, [chosen]) == len(expected)


@pytest.mark.parametrize(
    ("calendar", "field"),
    [
        (Calendar(" ", dates=(date(2025, 1, 1),)), "calendar.name"),
        (Calendar("empty"), "calendar.dates"),
        (Calendar("zero", version=0, dates=(date(2025, 1, 1),)), "calendar.version"),
        (
            Calendar("inside-out", windows=(Window(utc("2025-01-02"), utc("2025-01-01")),)),
            "calendar.windows",
        ),
        (
            Calendar("mixed", windows=(Window(utc("2025-01-01"), wall("2025-01-02")),)),
            "calendar.windows",
        ),
    ],
)
def test_a_calendar_is_refused_by_field(calendar: Calendar, field: str) -> None:
    with pytest.raises(InvalidSchedule) as refusal:
        validate_calendar(calendar)
    assert refusal.value.field == field


def test_a_calendar_is_kept_sorted_and_travels_as_json() -> None:
    days = (date(2025, 5, 2), date(2025, 5, 1), date(2025, 5, 2))
    windows = tuple(
        Window(utc("2025-06-01") + timedelta(days=n), utc("2025-06-02") + timedelta(days=n))
        for n in (1, 0)
    )
    kept = validate_calendar(Calendar("spring", 3, days, windows))
    assert kept.dates == (date(2025, 5, 1), date(2025, 5, 2))
    assert kept.windows == windows[::-1]
    assert msgspec.json.decode(msgspec.json.encode(kept), type=Calendar) == kept
