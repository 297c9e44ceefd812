"""Fires that nobody planned in time: which run, which are missed, and that none is forgotten."""

from datetime import date, datetime, timedelta

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamplighter.domain.policy import CatchUp, CatchUpPolicy, ScheduleType
from lamplighter.domain.schedule import (
    LATE_AFTER,
    Calendar,
    CalendarUse,
    Missed,
    Schedule,
    Settlement,
    catch_up,
    fires,
    fires_between,
)
from lamplighter.domain.schedule.timetable import Cron
from tests.domain.schedule.helpers import calls, cron, every, laws, short, utc

NOW = utc("2025-06-15T12:00:30")


def policy(name: str, window: int = 3600, limit: int = 100) -> CatchUpPolicy:
    return CatchUpPolicy(CatchUp(name), window, limit)


def minutely(name: str, window: int = 3600, limit: int = 100) -> Schedule:
    return cron("* * * * *", catch_up=policy(name, window, limit))


def settle(schedule: Schedule, since: str) -> Settlement:
    return catch_up(schedule, utc(since), NOW)


def test_a_fire_up_to_a_minute_late_is_not_late() -> None:
    settled = settle(minutely("latest"), "2025-06-15T12:00")
    assert settled == Settlement((), (), utc("2025-06-15T12:00"), more=False)
    on_the_edge = catch_up(minutely("none"), utc("2025-06-15T12:00"), utc("2025-06-15T12:01"))
    assert on_the_edge.next_fire_at == utc("2025-06-15T12:00")
    past_it = catch_up(minutely("none"), utc("2025-06-15T12:00"), utc("2025-06-15T12:01:00.001"))
    assert past_it.missed == (Missed(utc("2025-06-15T12:00"), utc("2025-06-15T12:00"), 1),)


def test_latest_runs_the_last_late_fire_and_records_the_others_in_one_row() -> None:
    settled = settle(minutely("latest"), "2025-06-15T11:30")
    assert [short(fire) for fire in settled.run] == ["2025-06-15 11:59"]
    assert settled.missed == (Missed(utc("2025-06-15T11:30"), utc("2025-06-15T11:58"), 29),)
    assert settled.next_fire_at == utc("2025-06-15T12:00")


def test_the_first_millisecond_of_1970_is_a_fire_like_any_other() -> None:
    daily = cron("0 0 * * *", catch_up=policy("latest"))
    settled = catch_up(daily, utc("1969-12-31T00:00"), utc("1970-01-01T00:30"))
    assert settled.run == (utc("1970-01-01T00:00"),)


def test_latest_runs_nothing_that_is_older_than_its_window() -> None:
    daily = cron("0 9 * * *", catch_up=policy("latest"))
    settled = settle(daily, "2025-06-10T09:00")
    assert settled.run == ()
    assert settled.missed == (Missed(utc("2025-06-10T09:00"), utc("2025-06-15T09:00"), 6),)
    wider = cron("0 9 * * *", catch_up=policy("latest", window=4 * 3600))
    settled = settle(wider, "2025-06-10T09:00")
    assert settled.run == (utc("2025-06-15T09:00"),)
    assert settled.missed[0].count == 5


def test_a_fire_exactly_as_old_as_the_window_still_runs() -> None:
    hourly = cron("0 * * * *", catch_up=policy("all"))
    on_the_edge = catch_up(hourly, utc("2025-06-15T10:00"), utc("2025-06-15T11:00"))
    assert on_the_edge.run == (utc("2025-06-15T10:00"),)
    past_it = catch_up(hourly, utc("2025-06-15T10:00"), utc("2025-06-15T11:00:00.001"))
    assert past_it.run == ()


def test_all_runs_what_the_window_and_the_limit_hold() -> None:
    settled = settle(minutely("all", window=600), "2025-06-15T11:00")
    assert [short(fire) for fire in (settled.run[0], settled.run[-1])] == [
        "2025-06-15 11:51",
        "2025-06-15 11:59",
    ]
    assert settled.missed == (Missed(utc("2025-06-15T11:00"), utc("2025-06-15T11:50"), 51),)
    few = settle(minutely("all", limit=3), "2025-06-15T11:00")
    assert [fire.minute for fire in few.run] == [57, 58, 59]
    assert few.missed[0].count == 57


def test_none_runs_nothing_late() -> None:
    settled = settle(minutely("none"), "2025-06-15T11:00")
    assert settled.run == ()
    assert settled.missed == (Missed(utc("2025-06-15T11:00"), utc("2025-06-15T11:59"), 60),)
    assert settled.next_fire_at == utc("2025-06-15T12:00")


def test_a_one_off_runs_however_late() -> None:
    schedule = Schedule(ScheduleType.FUTURE, schedule_time=utc("2025-06-01T00:00"))
    settled = settle(schedule, "2025-06-01T00:00")
    assert settled == Settlement((utc("2025-06-01T00:00"),), (), None, more=False)


def test_a_schedule_that_has_ended_meanwhile() -> None:
    schedule = cron("0 * * * *", end_at=utc("2025-06-15T05:00"), catch_up=policy("latest"))
    settled = settle(schedule, "2025-06-15T03:00")
    assert settled.missed == (Missed(utc("2025-06-15T03:00"), utc("2025-06-15T05:00"), 3),)
    assert settled.next_fire_at is None
    assert not settled.more


@pytest.mark.parametrize("name", ["latest", "all", "none"])
@pytest.mark.parametrize(
    "schedule",
    [every(1, "2025-01-01T00:00"), cron("* * * * * *", "Europe/Berlin")],
    ids=["interval", "cron"],
)
def test_thirty_days_of_a_fire_a_second_are_counted_not_walked(
    name: str, schedule: Schedule, monkeypatch: pytest.MonkeyPatch
) -> None:
    searched = calls(monkeypatch, Cron, "_search")
    start = NOW - timedelta(days=30)
    late = msgspec.structs.replace(schedule, catch_up=policy(name))
    settled = catch_up(late, start, NOW)
    assert len(settled.run) + settled.missed[0].count == 30 * 86_400 - 60
    assert len(searched) < 400
    assert not settled.more


def test_what_a_calendar_excludes_was_not_missed() -> None:
    closed = Calendar("closed", dates=(date(2025, 6, 14),))
    schedule = cron(
        "0 */6 * * *", calendar=CalendarUse(exclude=("closed",)), catch_up=policy("none")
    )
    settled = catch_up(schedule, utc("2025-06-13T18:00"), NOW, calendars=[closed])
    assert settled.missed == (Missed(utc("2025-06-13T18:00"), utc("2025-06-15T06:00"), 3),)


schedules = st.sampled_from(
    [
        cron("* * * * *", "Europe/Berlin"),
        cron("*/7 2,3 * * *", "Europe/Berlin"),
        cron("0 0 * * 1-5", "America/New_York"),
        cron("*/20 * 2 * * *", "Europe/Berlin"),
        every(90, "2025-03-28T00:00:07"),
        every(1.5, "2025-03-30T00:00"),
        cron("*/10 * * * *", end_at=utc("2025-03-30T01:30")),
    ]
)


policies = st.builds(
    CatchUpPolicy, st.sampled_from(CatchUp), st.integers(0, 10_000), st.integers(1, 50)
)


@laws(120)
@given(schedules, policies, st.integers(0, 20_000), st.integers(1, 60))
def test_every_fire_is_settled_exactly_once_whatever_the_page(
    schedule: Schedule, policy: CatchUpPolicy, outage: int, page: int
) -> None:
    late = msgspec.structs.replace(schedule, catch_up=policy)
    now = utc("2025-03-30T04:00:05")
    first = list(fires(late, now - timedelta(seconds=outage), limit=1))
    if not first:
        return
    whole = in_pages(late, first[0], now, 10_000)
    assert in_pages(late, first[0], now, page) == whole
    run, missed = whole
    everything = fires_between(late, first[0], max(first[0], now - LATE_AFTER))
    lost = [fire for each in missed for fire in span(late, each)]
    assert sorted(run + lost) == everything
    assert run == everything[len(everything) - len(run) :]


def span(schedule: Schedule, missed: Missed) -> list[datetime]:
    found = fires_between(schedule, missed.from_fire, missed.to_fire + timedelta(milliseconds=1))
    assert (found[0], found[-1], len(found)) == (missed.from_fire, missed.to_fire, missed.count)
    return found


def in_pages(
    schedule: Schedule, first: datetime, now: datetime, page: int
) -> tuple[list[datetime], list[Missed]]:
    run: list[datetime] = []
    missed: list[Missed] = []
    upcoming: datetime | None = first
    while upcoming is not None:
        settled = catch_up(schedule, upcoming, now, page=page)
        run += settled.run
        missed += settled.missed
        assert len(settled.run) <= page
        if not settled.more:
            break
        assert settled.next_fire_at is not None
        assert settled.next_fire_at > upcoming
        upcoming = settled.next_fire_at
    return run, missed


def test_a_clock_that_moves_on_between_pages_loses_nothing() -> None:
    schedule = minutely("all", window=86_400, limit=1000)
    upcoming, now = utc("2025-06-15T06:00"), NOW
    settled: list[datetime] = []
    for _ in range(200):
        answer = catch_up(schedule, upcoming, now, page=7)
        settled += answer.run
        assert answer.next_fire_at is not None
        upcoming, now = answer.next_fire_at, now + timedelta(seconds=61)
        if not answer.more:
            break
    assert settled == fires_between(schedule, utc("2025-06-15T06:00"), upcoming)
