"""`verify`: from when on, as people type it."""

import pytest
from click.testing import CliRunner

from lamplighter.cli.main import main


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("bla", "is neither a time nor a duration; write 2030-01-31T09:30:00Z, or how long ago"),
        ("2030-01-31T09:30", "has no offset; add one, or Z"),
    ],
)
def test_a_time_that_is_none_is_answered_with_both_ways_to_write_one(typed: str, said: str) -> None:
    refused = CliRunner().invoke(main, ["verify", "--since", typed])

    assert refused.exit_code == 2
    assert said in " ".join(refused.stderr.split())
