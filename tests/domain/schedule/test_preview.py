"""The preview of nights on which the clock changes."""

import pytest

from lamplighter.domain.policy import ScheduleType
from lamplighter.domain.schedule import Schedule, transitions
from tests.domain.schedule.helpers import cron, dst, every, utc

YEAR = utc("2025-01-01"), utc("2026-01-01")


@pytest.mark.parametrize(
    ("text", "policy", "gap", "overlap"),
    [
        (
            "30 2 * * *",
            dst(),
            "1 wall time missing, run as one fire when the clock has jumped.",
            "1 wall time shown twice; only the first showing fires.",
        ),
        (
            "*/15 2 * * *",
            dst("skip", "second"),
            "4 wall times missing and skipped.",
            "4 wall times shown twice; only the second showing fires.",
        ),
        (
            "30 2 * * *",
            dst(overlap="both"),
            "1 wall time missing, run as one fire when the clock has jumped.",
            "1 wall time shown twice; both showings fire.",
        ),
        (
            "*/5 * * * *",
            dst(),
            "12 wall times missing; fires follow elapsed time.",
            "12 wall times shown twice; fires follow elapsed time, so both run.",
        ),
        ("0 9 * * *", dst(), "no fire is affected.", "no fire is affected."),
    ],
)
def test_each_night_in_a_sentence(text: str, policy: object, gap: str, overlap: str) -> None:
    spring, autumn = transitions(cron(text, "Europe/Berlin", dst=policy), *YEAR)
    assert spring.sentence == (
        f"2025-03-30 02:00 → 2025-03-30 03:00 (Europe/Berlin, 1:00:00 ahead): {gap}"
    )
    assert autumn.sentence == (
        f"2025-10-26 03:00 → 2025-10-26 02:00 (Europe/Berlin, 1:00:00 back): {overlap}"
    )
    assert (spring.at, autumn.at) == (utc("2025-03-30T01:00"), utc("2025-10-26T01:00"))


def test_counts_what_is_affected() -> None:
    (night,) = transitions(
        cron("0 * 30 12 *", "Pacific/Apia"), utc("2011-12-25"), utc("2011-12-31")
    )
    assert night.affected == 24


def test_the_end_of_the_range_belongs_to_it_and_the_start_does_not() -> None:
    schedule, night = cron("0 0 * * *", "Europe/Berlin"), utc("2025-03-30T01:00")
    assert len(transitions(schedule, utc("2025-03-01"), night)) == 1
    assert transitions(schedule, night, utc("2025-04-01")) == []


def test_what_reads_no_clock_has_no_such_nights() -> None:
    assert transitions(cron("0 0 * * *"), *YEAR) == []
    assert transitions(every(60, "2025-01-01", timezone="Europe/Berlin"), *YEAR) == []
    assert transitions(Schedule(ScheduleType.AFTER, timezone="Europe/Berlin"), *YEAR) == []
