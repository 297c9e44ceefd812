"""Against cronsim, the oracle for the defaults, and each point in which we differ, pinned.

cronsim handles a change of the clock specially for five fields of which neither minute nor hour
starts with a star; everything else follows elapsed time. We ask the hour alone, however many
fields there are: see docs/semantics.md.
"""

from datetime import UTC, datetime, timedelta
from itertools import islice, takewhile

import pytest
from croniter import croniter
from cronsim import CronSim
from hypothesis import assume, given
from hypothesis import strategies as st

from lamplighter.domain.schedule import fires
from tests.domain.schedule import strategies as some
from tests.domain.schedule.brute_force import Rule
from tests.domain.schedule.helpers import cron, laws, short, told, utc
from tests.domain.schedule.raw_zones import Change, changes, pinned


def simulated(text: str, name: str, after: datetime, count: int) -> list[datetime]:
    return [
        fire.astimezone(UTC)
        for fire in islice(CronSim(text, after.astimezone(pinned(name))), count)
    ]


@laws(250)
@given(some.rules(both_days=False), some.anytime)
def test_five_fields_without_a_zone(rule: Rule, at: datetime) -> None:
    assert list(fires(cron(rule.text), at, limit=5)) == simulated(rule.text, "UTC", at, 5)


@laws(150)
@given(some.rules(both_days=False), some.field(0, 59), some.anytime)
def test_six_fields_without_a_zone(
    rule: Rule, second: tuple[str, frozenset[int]], at: datetime
) -> None:
    text = f"{second[0]} {rule.text}"
    assert list(fires(cron(text), at, limit=5)) == simulated(text, "UTC", at, 5)


@pytest.mark.parametrize(
    "text",
    [
        "0 0 L * *",
        "30 6 15,L * *",
        "0 0 L 2 *",
        "0 0 * * 5L",
        "0 0 * * 0L,1L",
        "0 0 * * 1#5",
        "0 0 * * 0#1,3#2",
        "0 0 13 * 5#2",
        "0 0 L * 5L",
        "0 0 29 2 *",
        "0 0 29 2 1",
        "0 0 31 * */3",
        "0 0 */2 * 1",
    ],
)
def test_special_days(text: str) -> None:
    start = utc("1999-12-31T00:00")
    assert list(fires(cron(text), start, limit=60)) == simulated(text, "UTC", start, 60)


@pytest.mark.parametrize("text", ["0 0 15W * *", "0 0 1W * *", "0 0 31W * *", "0 0 L 2,4 *"])
def test_days_that_only_croniter_knows(text: str) -> None:
    start = utc("1999-12-31T00:00")
    theirs = islice(croniter(text, start, ret_type=datetime).all_next(datetime), 60)
    assert list(fires(cron(text), start, limit=60)) == list(theirs)


def near(name: str, at: datetime) -> list[int]:
    """Sizes of the changes within four days, with what makes cronsim step over matches."""
    moment = int(at.timestamp())
    return [
        each.after - each.before for each in changes(name) if abs(each.at - moment) < 4 * 86_400
    ]


def stepwise(name: str, at: datetime) -> bool:
    """Whether cronsim, going by whole hours and from midnights, can lose its step."""
    moment = int(at.timestamp())
    return any(
        (each.after - each.before) % 3600 or (each.at + each.before) % 3600 or no_midnight(each)
        for each in changes(name)
        if abs(each.at - moment) < 5 * 86_400
    )


def no_midnight(change: Change) -> bool:
    """Whether the clock jumps over a midnight."""
    first, last = change.at + change.before, change.at + change.after - 1
    return first <= last // 86_400 * 86_400


@laws(350)
@given(some.rules(star_minutes=False, both_days=False), some.zones, st.data())
def test_nights_on_which_the_clock_changes(rule: Rule, name: str, data: st.DataObject) -> None:
    at = data.draw(some.near_a_change(name))
    # Not from within an hour shown twice: there cronsim can answer with an earlier time.
    assume(not at.astimezone(pinned(name)).fold)
    if rule.star_hour:
        assume(not stepwise(name, at))
    assume(all(size % 60 == 0 for size in near(name, at)))
    agree(rule.text, name, at)


def agree(text: str, name: str, at: datetime) -> None:
    until = at + timedelta(days=3)
    ours = list(fires(cron(text, name), at, until=until, limit=200))
    theirs = takewhile(lambda fire: fire <= until, simulated(text, name, at, 200))
    assert ours == list(theirs)


seconds = st.one_of(some.field(0, 59), some.starred(0, 59, True)).map(lambda found: found[0])


@laws(250)
@given(some.rules(periodic=True, both_days=False), st.none() | seconds, some.zones, st.data())
def test_a_wildcard_hour_follows_elapsed_time_in_five_fields_and_in_six(
    rule: Rule, second: str | None, name: str, data: st.DataObject
) -> None:
    # From as near as makes 200 fires, perhaps one a second, reach beyond the change.
    near_by = data.draw(st.sampled_from([60, 3600, 30 * 3600]))
    at = data.draw(some.near_a_change(name, seconds=near_by))
    assume(not at.astimezone(pinned(name)).fold)
    assume(not stepwise(name, at))
    agree(f"{second} {rule.text}" if second else rule.text, name, at)


@pytest.mark.parametrize(
    ("text", "name", "after", "ours", "cronsims"),
    [
        pytest.param(
            "*/30 2 * * *",
            "Europe/Berlin",
            "2025-03-29T12:00",
            ["2025-03-30 01:00", "2025-03-31 00:00"],
            ["2025-03-31 00:00", "2025-03-31 00:30"],
            id="a named hour is a named hour, whatever the minutes: nothing vanishes in a gap",
        ),
        pytest.param(
            "*/30 2 * * *",
            "Europe/Berlin",
            "2025-10-25T12:00",
            ["2025-10-26 00:00", "2025-10-26 00:30", "2025-10-27 01:00"],
            ["2025-10-26 00:00", "2025-10-26 00:30", "2025-10-26 01:00"],
            id="nor does it fire twice in an overlap",
        ),
        pytest.param(
            "0 30 2 * * *",
            "Europe/Berlin",
            "2025-03-29T12:00",
            ["2025-03-30 01:00"],
            ["2025-03-31 00:30"],
            id="six fields are treated as five are",
        ),
        pytest.param(
            "30 2 * * *",
            "Europe/Berlin",
            "2025-10-26T01:10",
            ["2025-10-27 01:30"],
            ["2025-10-26 00:30"],
            id="never earlier than asked for, in the hour shown twice",
        ),
        pytest.param(
            "0 */2 * * *",
            "America/St_Johns",
            "2008-11-02T01:00",
            ["2008-11-02 02:30", "2008-11-02 03:30", "2008-11-02 05:30"],
            ["2008-11-02 02:30", "2008-11-02 02:30", "2008-11-02 02:30"],
            id="never the same instant twice, when midnight comes twice",
        ),
        pytest.param(
            "0 */2 * * *",
            "Asia/Pyongyang",
            "2018-05-04T12:00",
            ["2018-05-04 13:30", "2018-05-04 15:00", "2018-05-04 17:00"],
            ["2018-05-04 13:30", "2018-05-04 17:00", "2018-05-04 19:00"],
            id="nothing is stepped over when a clock changes by half an hour",
        ),
        pytest.param(
            "30 0 * * *",
            "Africa/Monrovia",
            "1972-01-06T12:00",
            ["1972-01-07 00:44:30", "1972-01-08 00:30"],
            ["1972-01-07 00:45", "1972-01-08 00:30"],
            id="the first instant after a gap, to the second",
        ),
        pytest.param(
            "0 */2 * * SUN",
            "Asia/Beirut",
            "2025-03-29T12:00",
            ["2025-03-29 23:00", "2025-03-30 01:00"],
            ["2025-03-29 22:00", "2025-03-29 23:00"],
            id="a midnight that the clock leaves out is not 00:00, and 01:00 is not even",
        ),
    ],
)
def test_where_we_differ(
    text: str, name: str, after: str, ours: list[str], cronsims: list[str]
) -> None:
    assert told(cron(text, name), after, len(ours)) == ours
    assert [short(fire) for fire in simulated(text, name, utc(after), len(cronsims))] == cronsims
