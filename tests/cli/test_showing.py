"""How long a run took: said only where it is known."""

import pytest

from lamplighter.cli.showing import took

TIMES = {"start_time": "2030-01-01T12:00:00Z", "end_time": "2030-01-01T12:00:02.300Z"}


@pytest.mark.parametrize(
    ("status", "attempt", "said"),
    [
        ("SUCCESS", 2, "2.300 s"),
        ("CANCELLED", 1, "2.300 s"),
        # Cancelled before its second attempt: the times are of the first start and of the cancel.
        ("CANCELLED", 2, None),
    ],
)
def test_a_run_says_how_long_its_last_attempt_took(
    status: str, attempt: int, said: str | None
) -> None:
    assert took({**TIMES, "status": status, "attempt_number": attempt}) == said
