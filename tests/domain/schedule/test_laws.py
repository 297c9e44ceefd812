"""What is true of the fires of any cron schedule, anywhere, ever."""

from datetime import datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamplighter.domain.schedule import count_fires, fires, fires_between, next_fire
from lamplighter.domain.schedule.expression import Expression
from lamplighter.domain.schedule.timeline import cron_timetable, timeline
from lamplighter.domain.schedule.times import from_ms, to_ms
from lamplighter.domain.schedule.timetable import Cron
from lamplighter.domain.schedule.zones import zone, zone_names
from tests.domain.schedule import strategies as some
from tests.domain.schedule.brute_force import Rule
from tests.domain.schedule.helpers import both_days, calls, cron, dst, laws, told, utc
from tests.domain.schedule.raw_zones import raw

DISTINCT = sorted({raw(name): name for name in sorted(zone_names())}.values())
EVERY_POLICY = [
    dst(gap, overlap) for gap in ("shift", "skip") for overlap in ("first", "second", "both")
]


def test_in_every_zone_on_every_night_fires_only_rise() -> None:
    """Every change of every clock, 1970 to 2037; the policies take turns."""
    for turn, name in enumerate(DISTINCT):
        policy = EVERY_POLICY[turn % len(EVERY_POLICY)]
        schedule = cron("17 0-4,22-23 * * *", name, dst=policy)
        for segment in zone(name).segments(0, 2_145_916_800):
            if not (segment.is_gap or segment.is_overlap):
                continue
            night = from_ms((segment.end - 7200) * 1000)
            found = list(fires(schedule, night, limit=4))
            assert all(one < other for one, other in pairwise([night, *found])), (name, night)


@laws(250)
@given(some.rules(), some.zones, some.gaps, some.overlaps, st.data())
def test_the_next_fire_is_the_first_wherever_one_asks_from(
    rule: Rule, name: str, gap: str, overlap: str, data: st.DataObject
) -> None:
    schedule = cron(rule.text, name, dst=dst(gap, overlap))
    after = data.draw(some.near_a_change(name))
    fire = next_fire(schedule, after)
    if fire is None:
        return
    assert fire > after
    between = after + (fire - after) * data.draw(st.floats(0, 0.999))
    cron_timetable(schedule)._known = (0, 0)
    assert next_fire(schedule, between) == fire
    assert next_fire(schedule, fire) != fire


@laws(120)
@given(some.rules(), some.zones, some.overlaps, st.data())
def test_counting_and_halving_agree_with_walking(
    rule: Rule, name: str, overlap: str, data: st.DataObject
) -> None:
    schedule = cron(rule.text, name, dst=dst(overlap=overlap))
    start = data.draw(some.near_a_change(name))
    end = start + timedelta(hours=data.draw(st.integers(0, 80)))
    walked = fires_between(schedule, start, end)
    assert count_fires(schedule, start, end) == len(walked)
    line = timeline(schedule)
    last = line.last_before(to_ms(end), to_ms(start) - 1)
    assert last == (to_ms(walked[-1]) if walked else None)


def test_a_fire_at_the_end_of_a_gap_is_counted_in_the_range_that_begins_with_it() -> None:
    schedule, gap_ends = cron("30 2 * * *", "Europe/Berlin"), utc("2025-03-30T01:00")
    before, later = gap_ends - timedelta(hours=6), gap_ends + timedelta(hours=6)
    assert count_fires(schedule, before, gap_ends) == 0
    assert count_fires(schedule, gap_ends, later) == 1
    assert count_fires(schedule, before, later) == 1


def test_ranges_that_meet_share_no_fire_and_lose_none() -> None:
    schedule = cron("*/7 * * * *", "Europe/Berlin")
    start = utc("2025-03-29T00:00")
    edges = [start + timedelta(hours=5 * number) for number in range(12)]
    pieces = [fire for low, high in pairwise(edges) for fire in fires_between(schedule, low, high)]
    assert pieces == fires_between(schedule, edges[0], edges[-1])


def test_a_thousand_jobs_with_one_expression_cost_one_evaluation(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    searched = calls(monkeypatch, Cron, "_search")
    start = utc("2031-05-05T00:00:00.001")
    for number in range(1000):
        schedule = cron("59 23 * * 1-5", "Asia/Manila")
        assert next_fire(schedule, start + timedelta(seconds=number)) == utc("2031-05-05T15:59")
    assert len(searched) == 1


def test_sparse_dates_are_found_by_months_not_by_days(monkeypatch: pytest.MonkeyPatch) -> None:
    looked = calls(monkeypatch, Expression, "_month")
    schedule = cron("0 0 29 2 1", **both_days())
    assert told(schedule, "2072-02-29T12:00", 2) == ["2112-02-29 00:00", "2140-02-29 00:00"]
    assert len(looked) < 300


def test_there_is_an_end_to_the_calendar() -> None:
    daily = cron("0 0 * * *", "Europe/Berlin")
    assert next_fire(daily, utc("9997-12-31T12:00")) is None
    assert next_fire(daily, utc("9999-12-31T12:00")) is None
    assert next_fire(daily, utc("0001-01-01T00:00")) is not None


def test_a_date_that_no_year_has_never_comes() -> None:
    for text in ("0 0 30 2 *", "0 0 31 4,6 *"):
        assert next_fire(cron(text), utc("2025-01-01T00:00")) is None


def test_a_fire_that_is_always_in_the_gap_and_skipped_never_comes() -> None:
    schedule = cron("30 2 * 3 L0", "Europe/Berlin", dst=dst(gap="skip"))
    assert next_fire(schedule, utc("2025-01-01T00:00")) is None


def test_fires_have_no_more_than_milliseconds_and_are_utc() -> None:
    fire = next_fire(cron("* * * * * *"), utc("2025-01-01T00:00:00.999999"))
    assert fire == utc("2025-01-01T00:00:01")
    assert fire is not None
    assert fire.utcoffset() == timedelta(0)


def test_a_moment_without_an_offset_is_refused() -> None:
    with pytest.raises(ValueError, match="add an offset or Z"):
        next_fire(cron("* * * * *"), datetime(2025, 1, 1))  # noqa: DTZ001
