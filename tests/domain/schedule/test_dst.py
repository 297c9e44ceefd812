"""Nights on which the clock changes, one policy and one oddity of the world at a time."""

import pytest

from lamplighter.domain.schedule import next_fire
from tests.domain.schedule.helpers import cron, dst, told, utc

BERLIN, NEW_YORK = "Europe/Berlin", "America/New_York"


def test_gap_shift_runs_at_the_first_instant_after_the_gap() -> None:
    fires = told(cron("30 2 * * *", BERLIN), "2025-03-29T00:00", 3)
    assert fires == ["2025-03-29 01:30", "2025-03-30 01:00", "2025-03-31 00:30"]


def test_gap_skip_runs_the_next_day() -> None:
    fires = told(cron("30 2 * * *", BERLIN, dst=dst(gap="skip")), "2025-03-29T00:00", 2)
    assert fires == ["2025-03-29 01:30", "2025-03-31 00:30"]


def test_fires_swallowed_together_are_one_fire() -> None:
    fires = told(cron("0,15,30,45 2 * * *", BERLIN), "2025-03-29T12:00", 2)
    assert fires == ["2025-03-30 01:00", "2025-03-31 00:00"]


def test_a_shifted_fire_that_meets_a_real_one_is_one_fire() -> None:
    fires = told(cron("0 2,3 * * *", BERLIN), "2025-03-29T12:00", 2)
    assert fires == ["2025-03-30 01:00", "2025-03-31 00:00"]


@pytest.mark.parametrize(
    ("overlap", "fires"),
    [
        ("first", ["2025-10-26 00:30", "2025-10-27 01:30"]),
        ("second", ["2025-10-26 01:30", "2025-10-27 01:30"]),
        ("both", ["2025-10-26 00:30", "2025-10-26 01:30"]),
    ],
)
def test_overlap(overlap: str, fires: list[str]) -> None:
    schedule = cron("30 2 * * *", BERLIN, dst=dst(overlap=overlap))
    assert told(schedule, "2025-10-25T12:00", 2) == fires


def test_overlap_second_keeps_the_order_of_the_clock() -> None:
    schedule = cron("0,30 1,2,3 * * *", BERLIN, dst=dst(overlap="second"))
    assert told(schedule, "2025-10-25T22:00", 6) == [
        "2025-10-25 23:00",
        "2025-10-25 23:30",
        "2025-10-26 01:00",
        "2025-10-26 01:30",
        "2025-10-26 02:00",
        "2025-10-26 02:30",
    ]


@pytest.mark.parametrize("overlap", ["first", "second", "both"])
@pytest.mark.parametrize("gap", ["shift", "skip"])
def test_a_wildcard_hour_follows_elapsed_time_whatever_the_policy(gap: str, overlap: str) -> None:
    hourly = cron("0 * * * *", BERLIN, dst=dst(gap, overlap))
    assert told(hourly, "2025-03-30T00:00", 2) == ["2025-03-30 01:00", "2025-03-30 02:00"]
    assert told(hourly, "2025-10-26T00:00", 2) == ["2025-10-26 01:00", "2025-10-26 02:00"]
    two_hourly = cron("0 */2 * * *", BERLIN, dst=dst(gap, overlap))
    assert told(two_hourly, "2025-03-29T22:30", 2) == ["2025-03-29 23:00", "2025-03-30 02:00"]
    assert told(two_hourly, "2025-10-25T23:00", 3) == [
        "2025-10-26 00:00",
        "2025-10-26 01:00",
        "2025-10-26 03:00",
    ]


def test_a_range_of_all_hours_names_its_hours() -> None:
    fires = told(cron("0 0-23 * * *", BERLIN), "2025-10-25T23:30", 2)
    assert fires == ["2025-10-26 00:00", "2025-10-26 02:00"]


def test_asked_from_within_the_second_showing_the_answer_is_later() -> None:
    schedule = cron("30 2 * * *", BERLIN)
    assert next_fire(schedule, utc("2025-10-26T01:10")) == utc("2025-10-27T01:30")


@pytest.mark.parametrize(
    ("zone", "text", "after", "fires"),
    [
        pytest.param(
            "Australia/Lord_Howe",
            "15 2 * * *",
            "2024-10-05T00:00",
            ["2024-10-05 15:30", "2024-10-06 15:15"],
            id="half an hour ahead, on Lord Howe",
        ),
        pytest.param(
            "Australia/Lord_Howe",
            "45 1 * * *",
            "2025-04-05T00:00",
            ["2025-04-05 14:45", "2025-04-06 15:15"],
            id="half an hour back",
        ),
        pytest.param(
            "Africa/Cairo",
            "0 0 * * *",
            "2024-04-25T12:00",
            ["2024-04-25 22:00", "2024-04-26 21:00"],
            id="no midnight, in Cairo",
        ),
        pytest.param(
            "Asia/Beirut",
            "30 0 * * 0",
            "2024-03-28T00:00",
            ["2024-03-30 22:00", "2024-04-06 21:30"],
            id="no midnight on the only day of the week, in Beirut",
        ),
        pytest.param(
            "America/Sao_Paulo",
            "0 0 4 11 *",
            "2018-11-01T00:00",
            ["2018-11-04 03:00", "2019-11-04 03:00"],
            id="no midnight on the only day of the year, in Sao Paulo",
        ),
        pytest.param(
            "America/Havana",
            "30 0 * * *",
            "2024-11-02T12:00",
            ["2024-11-03 04:30", "2024-11-04 05:30"],
            id="midnight twice, in Havana",
        ),
        pytest.param(
            "America/St_Johns",
            "0 0 * * *",
            "2008-11-01T12:00",
            ["2008-11-02 02:30", "2008-11-03 03:30"],
            id="a minute past midnight, back into yesterday, in St. John's",
        ),
        pytest.param(
            "Pacific/Apia",
            "0 9 * * *",
            "2011-12-29T00:00",
            ["2011-12-29 19:00", "2011-12-30 10:00", "2011-12-30 19:00"],
            id="a day that never was, in Samoa",
        ),
        pytest.param(
            "Pacific/Kwajalein",
            "0 12 21 8 *",
            "1993-08-19T00:00",
            ["1993-08-21 12:00", "1994-08-21 00:00"],
            id="another, on Kwajalein",
        ),
        pytest.param(
            "Europe/Dublin",
            "30 1 * * *",
            "2025-03-29T12:00",
            ["2025-03-30 01:00", "2025-03-31 00:30"],
            id="summer is standard, winter is saved, in Dublin: only offsets matter",
        ),
        pytest.param(
            "Europe/Dublin",
            "30 1 * * *",
            "2025-10-25T12:00",
            ["2025-10-26 00:30", "2025-10-27 01:30"],
            id="and back",
        ),
        pytest.param(
            "Africa/Casablanca",
            "30 2 * * *",
            "2025-02-22T12:00",
            ["2025-02-23 01:30", "2025-02-24 02:30"],
            id="Ramadan begins, in Morocco: the clock goes back at three",
        ),
        pytest.param(
            "Africa/Casablanca",
            "30 2 * * *",
            "2025-04-05T12:00",
            ["2025-04-06 02:00", "2025-04-07 01:30"],
            id="and ends",
        ),
        pytest.param(
            "Antarctica/Troll",
            "0 2 * * *",
            "2025-03-29T12:00",
            ["2025-03-30 01:00", "2025-03-31 00:00"],
            id="two hours at once, at Troll",
        ),
        pytest.param(
            "Africa/Monrovia",
            "30 0 * * *",
            "1972-01-05T12:00",
            ["1972-01-06 01:14:30", "1972-01-07 00:44:30", "1972-01-08 00:30"],
            id="offsets with seconds, in Liberia",
        ),
        pytest.param(
            "Asia/Kathmandu",
            "5 0 1 1 *",
            "1985-12-01T00:00",
            ["1985-12-31 18:30", "1986-12-31 18:20"],
            id="a quarter of an hour, on New Year's Eve, in Nepal",
        ),
        pytest.param(
            "Europe/London",
            "0 0 * * *",
            "1971-10-29T12:00",
            ["1971-10-29 23:00", "1971-10-30 23:00", "1971-11-01 00:00"],
            id="the end of British Standard Time",
        ),
    ],
)
def test_around_the_world(zone: str, text: str, after: str, fires: list[str]) -> None:
    assert told(cron(text, zone), after, len(fires)) == fires


@pytest.mark.parametrize(
    ("zone", "text", "after", "fires"),
    [
        pytest.param(
            NEW_YORK,
            "0 7,9 * * *",
            "2020-03-07T23:00",
            ["2020-03-08 11:00", "2020-03-08 13:00", "2020-03-09 11:00"],
            id="several hours after the gap keep their hours (Airflow 7999)",
        ),
        pytest.param(
            "America/Toronto",
            "0 */2 * * *",
            "2023-03-12T04:00",
            ["2023-03-12 05:00", "2023-03-12 08:00", "2023-03-12 10:00"],
            id="every second hour goes on after the gap (Airflow 30195)",
        ),
        pytest.param(
            "Europe/Paris",
            "0 7-21 * * *",
            "2023-10-28T19:30",
            ["2023-10-29 06:00", "2023-10-29 07:00"],
            id="a range of hours goes on after the overlap (Airflow 35558)",
        ),
        pytest.param(
            BERLIN,
            "0 2 * * *",
            "2023-10-28T12:00",
            ["2023-10-29 00:00", "2023-10-30 01:00"],
            id="two o'clock comes once (Kubernetes 121594)",
        ),
        pytest.param(
            BERLIN,
            "* * * * *",
            "2023-10-29T00:58",
            ["2023-10-29 00:59", "2023-10-29 01:00", "2023-10-29 01:01"],
            id="every minute has no hour's pause in the overlap (Quartz 81, 1104)",
        ),
        pytest.param(
            "Africa/Cairo",
            "0 1-23/2 * * *",
            "2024-04-25T19:00",
            ["2024-04-25 21:00", "2024-04-25 22:00", "2024-04-26 00:00"],
            id="a gap at midnight skips no hours of the day (Spring 36865)",
        ),
        pytest.param(
            BERLIN,
            "0 12 * * 0",
            "2022-03-24T11:00",
            ["2022-03-27 10:00", "2022-04-03 10:00"],
            id="a day of 23 hours is not stepped over (cronie 218)",
        ),
        pytest.param(
            "Europe/Athens",
            "0 0 * * *",
            "2018-03-24T23:00",
            ["2018-03-25 21:00", "2018-03-26 21:00"],
            id="the day of the gap ends (Quartz.NET 612)",
        ),
    ],
)
def test_what_users_of_others_ran_into(zone: str, text: str, after: str, fires: list[str]) -> None:
    assert told(cron(text, zone), after, len(fires)) == fires
