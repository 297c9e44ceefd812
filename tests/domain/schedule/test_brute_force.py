"""Against a walk over every minute, in every zone and year, under every policy."""

from datetime import UTC, datetime, timedelta

from hypothesis import assume, given
from hypothesis import strategies as st

from lamplighter.domain.policy import DayMatch
from lamplighter.domain.schedule import count_fires, fires_between
from tests.domain.schedule import strategies as some
from tests.domain.schedule.brute_force import Rule, walk, whole_minutes
from tests.domain.schedule.helpers import cron, dst, laws
from tests.domain.schedule.raw_zones import pinned


def check(rule: Rule, name: str, start: datetime, policy: tuple[str, str], hours: int) -> None:
    end = start + timedelta(hours=hours)
    schedule = cron(
        rule.text,
        name,
        dst=dst(*policy),
        day_match=DayMatch.AND if rule.both_days else DayMatch.OR,
    )
    slow = list(walk(rule, pinned(name), start, end, policy))
    assert fires_between(schedule, start, end) == slow
    assert count_fires(schedule, start, end) == len(slow)


@laws(300)
@given(some.rules(), some.zones, some.gaps, some.overlaps, st.data())
def test_nights_on_which_the_clock_changes(
    rule: Rule, name: str, gap: str, overlap: str, data: st.DataObject
) -> None:
    start = data.draw(some.near_a_change(name)).replace(second=0)
    assume(whole_minutes(pinned(name), start))
    check(rule, name, start, (gap, overlap), 50)


@laws(40)
@given(some.rules(), some.zones, some.gaps, some.overlaps, some.anytime)
def test_any_day_at_all(rule: Rule, name: str, gap: str, overlap: str, at: datetime) -> None:
    assume(whole_minutes(pinned(name), at))
    check(rule, name, at.replace(second=0), (gap, overlap), 96)


@laws(300)
@given(some.rules(), some.anytime)
def test_dates_over_many_months(rule: Rule, at: datetime) -> None:
    daily = rule._replace(minutes=frozenset({0}), hours=frozenset({12}))
    text = "0 12 " + " ".join(rule.text.split()[2:])
    schedule = cron(text, day_match=DayMatch.AND if rule.both_days else DayMatch.OR)
    noon = at.replace(hour=12, minute=0, second=0)
    days = [noon + timedelta(days=number) for number in range(400)]
    expected = [day for day in days if daily.matches_day(day.date())]
    end = noon + timedelta(days=400)
    assert fires_between(schedule, noon, end) == expected
    assert count_fires(schedule, noon, end) == len(expected)


def test_the_whole_night_of_a_skipped_day() -> None:
    # Samoa had no 30 December 2011.
    rule = Rule(
        "0 9 * * *",
        frozenset({0}),
        frozenset({9}),
        frozenset(range(1, 32)),
        frozenset(range(1, 13)),
        frozenset(range(7)),
        star_day=True,
        star_weekday=True,
    )
    start = datetime(2011, 12, 28, tzinfo=UTC)
    for gap in ("shift", "skip"):
        check(rule, "Pacific/Apia", start, (gap, "first"), 120)
