"""Cron text: what is read, how, and what is refused in whose words."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamplighter.domain.errors import InvalidSchedule
from lamplighter.domain.policy import DayMatch
from lamplighter.domain.schedule.expression import parse
from tests.domain.schedule.helpers import cron, laws, told


def same(one: str, other: str) -> bool:
    return parse(one, DayMatch.OR) == parse(other, DayMatch.OR)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("@hourly", "0 * * * *"),
        ("@daily", "0 0 * * *"),
        ("@midnight", "0 0 * * *"),
        ("@weekly", "0 0 * * SUN"),
        ("@monthly", "0 0 1 * *"),
        ("@yearly", "0 0 1 1 *"),
        ("@Annually", "0 0 1 jan *"),
        ("  0   0 * * *\n", "0 0 * * *"),
        ("0 0 0 * * *", "0 0 * * *"),
        ("0 0 ? * MON", "0 0 * * 1"),
        ("0 0 1 * ?", "0 0 1 * *"),
        ("0 0 * * 7", "0 0 * * 0"),
        ("0 0 * * 5-7", "0 0 * * 0,5,6"),
        ("0 0 * * sat-mon", "0 0 * * 6,0,1"),
        ("0 0 * * 7-2", "0 0 * * 0-2"),
        ("0 0 * * 0-7", "0 0 * * 0-6"),
        ("0 0 * * 1-7/2", "0 0 * * 0,1,3,5"),
        ("0 0 * nov-feb *", "0 0 * 11,12,1,2 *"),
        ("0 22-2 * * *", "0 22,23,0,1,2 * * *"),
        ("0 0 28-3 * *", "0 0 28,29,30,31,1,2,3 * *"),
        ("10/20 * * * *", "10,30,50 * * * *"),
        ("5-20/5 * * * *", "5,10,15,20 * * * *"),
        ("0 0 * * 5L", "0 0 * * L5"),
        ("0 0 * * friL", "0 0 * * L5"),
        ("0 0 * * fri#2", "0 0 * * 5#2"),
        ("0 0 * * 7#1", "0 0 * * 0#1"),
        ("1,2,* * * * *", "* * * * *"),
        ("0 0 31 * *", "0 0 31 1,3,5,7,8,10,12 *"),
    ],
)
def test_two_spellings_of_one_rule_are_equal(one: str, other: str) -> None:
    assert same(one, other)


@pytest.mark.parametrize(
    ("text", "means", "croniter_says"),
    [
        ("0 9-9 * * *", "0 9 * * *", "every hour"),
        ("5-5/2 * * * *", "5 * * * *", "every second minute"),
        ("0 0 * jan-1 *", "0 0 * 1 *", "every month"),
        ("0 0 * * mon-mon", "0 0 * * 1", "every day"),
        ("0 0 * * 7-0", "0 0 * * 0", "every day"),
        ("0 0 * * mon-mon#1", "0 0 * * 1#1", "the first of every weekday"),
        ("0 0 0 1 1 7", "0 0 0 1 1 0", "out of range, in six fields only"),
    ],
)
def test_what_croniter_reads_otherwise_is_put_right(
    text: str, means: str, croniter_says: str
) -> None:
    assert same(text, means), croniter_says


@pytest.mark.parametrize(
    ("text", "told_off"),
    [
        ("60 * * * *", "minute '60'"),
        ("0 24 * * *", "hour '24'"),
        ("0 0 0 * *", "day of month '0'"),
        ("0 0 0 0 1 *", "day of month '0'"),
        ("0 0 32 * *", "day of month '32'"),
        ("0 0 1 13 *", "month '13'"),
        ("0 0 1 0 *", "month '0'"),
        ("0 0 * * 8", "day of week '8'"),
        ("0 0 * * mon#6", "day of week 'mon#6'"),
        ("0 0 * * 1#1,2", "day of week '1#1,2'"),
        ("0 0 * * *,5#2", "mixes plain and nth days"),
        ("60 0 0 * * *", "second '60'"),
        ("a b c d e", "minute 'a'"),
        ("? * * * *", "minute '?'"),
        ("0 0 L-3 * *", "day of month 'l-3'"),
        ("0 0 LW * *", "day of month 'lw'"),
        ("0 0 1W,15 * *", "day of month '1w,15'"),
        ("0 0 1,,2 * *", "day of month '1,,2'"),
        ("*/0 * * * *", "minute '*/0'"),
        ("-1 * * * *", "minute '-1'"),
        ("* * * *", "4 fields"),
        ("", "0 fields"),
        ("0 0 1 1 * * 2030", "leave out the year"),
        ("@reboot", "IMMEDIATE"),
        ("@every 1h", "INTERVAL"),
        ("@fortnightly", "'@fortnightly' is not known"),
        ("H * * * *", "hashed or random"),
        ("R * * * *", "jitter_seconds"),
        ("H(0-29)/10 * * * *", "hashed or random"),
        ("0 0 r/5 * *", "day of month 'r/5'"),
        ("*/90 * * * *", "INTERVAL"),
        ("0 */25 * * *", "steps past its own range"),
        ("0 22-4/3 * * *", "list the values"),
        ("٣ * * * *", "ASCII"),
    ],
)
def test_a_refusal_names_the_field_and_the_fix(text: str, told_off: str) -> None:
    with pytest.raises(InvalidSchedule) as refusal:
        parse(text, DayMatch.OR)
    assert refusal.value.field == "cron_expression"
    assert told_off in str(refusal.value)


@pytest.mark.parametrize(
    ("text", "fires"),
    [
        ("0 0 L * *", ["2024-01-31 00:00", "2024-02-29 00:00", "2024-03-31 00:00"]),
        ("0 0 15,L 2 *", ["2024-02-15 00:00", "2024-02-29 00:00", "2025-02-15 00:00"]),
        ("0 0 28-L 2 *", ["2024-02-28 00:00", "2024-02-29 00:00", "2025-02-28 00:00"]),
        ("0 0 * * L5", ["2024-01-26 00:00", "2024-02-23 00:00", "2024-03-29 00:00"]),
        ("0 0 * * FRI#2", ["2024-01-12 00:00", "2024-02-09 00:00", "2024-03-08 00:00"]),
        ("0 0 * * MON#5", ["2024-01-29 00:00", "2024-04-29 00:00", "2024-07-29 00:00"]),
        ("0 0 15W * *", ["2024-01-15 00:00", "2024-02-15 00:00", "2024-03-15 00:00"]),
        ("0 0 1W 6,9 *", ["2024-06-03 00:00", "2024-09-02 00:00", "2025-06-02 00:00"]),
        ("0 0 31W 3,8 *", ["2024-03-29 00:00", "2024-08-30 00:00", "2025-03-31 00:00"]),
        ("*/20 59 23 31 12 *", ["2023-12-31 23:59", "2023-12-31 23:59:20", "2023-12-31 23:59:40"]),
        ("0 0 29 2 *", ["2024-02-29 00:00", "2028-02-29 00:00", "2032-02-29 00:00"]),
        ("0 0 */10 * *", ["2024-01-01 00:00", "2024-01-11 00:00", "2024-01-21 00:00"]),
    ],
)
def test_days_of_many_kinds(text: str, fires: list[str]) -> None:
    assert told(cron(text), "2023-12-31T12:00", 3) == fires


@laws(400)
@given(st.text(alphabet="0123456789*/-,#?LWHRlw @jmfrisun()", max_size=24))
def test_no_text_breaks_the_parser(text: str) -> None:
    with suppress(InvalidSchedule):
        parse(text, DayMatch.OR)


@laws(200)
@given(
    st.integers(0, 5),
    st.text(alphabet="0123456789*/-,#?LWhrlwmonsatjdec", min_size=1, max_size=9),
)
def test_no_field_breaks_the_parser(index: int, item: str) -> None:
    columns = ["*"] * 6
    columns[index] = item
    with suppress(InvalidSchedule):
        parse(" ".join(columns), DayMatch.OR)
