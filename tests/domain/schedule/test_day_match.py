"""How day of month and day of week combine."""

import pytest

from tests.domain.schedule.helpers import both_days, cron, told

START = "2025-06-01T12:00"


def test_both_restricted_either_matches() -> None:
    assert told(cron("0 0 13 * 5"), START, 3) == [
        "2025-06-06 00:00",
        "2025-06-13 00:00",
        "2025-06-20 00:00",
    ]


def test_day_match_and_asks_for_both() -> None:
    friday_13th = cron("0 0 13 * 5", **both_days())
    assert told(friday_13th, START, 2) == ["2025-06-13 00:00", "2026-02-13 00:00"]


@pytest.mark.parametrize("text", ["0 0 13 * *", "0 0 13 * ?", "0 0 * * 5", "0 0 ? * 5"])
def test_one_restricted_it_alone_decides(text: str) -> None:
    assert told(cron(text), START, 3) == told(cron(text, **both_days()), START, 3)


@pytest.mark.parametrize(
    ("text", "fires"),
    [
        ("0 0 */2 * 1", ["2025-06-09 00:00", "2025-06-23 00:00", "2025-07-07 00:00"]),
        ("0 0 1-7 * */7", ["2025-07-06 00:00", "2025-08-03 00:00", "2025-09-07 00:00"]),
    ],
)
def test_a_field_that_starts_with_a_star_narrows_the_other(text: str, fires: list[str]) -> None:
    assert told(cron(text), START, 3) == fires


def test_a_range_of_all_days_is_a_restriction_in_form() -> None:
    fires = told(cron("0 0 1-31 * 1"), START, 2)
    assert fires == ["2025-06-02 00:00", "2025-06-03 00:00"]


def test_last_day_and_weekday() -> None:
    fires = told(cron("0 0 L * 5", **both_days()), START, 2)
    assert fires == ["2025-10-31 00:00", "2026-07-31 00:00"]
