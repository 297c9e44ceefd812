"""`preview`: the fires of a schedule, where it runs and here."""

import json

from tests.cli.conftest import Cli


def test_fires_are_shown_as_the_clock_on_the_wall_has_them(cli: Cli) -> None:
    words = ["--cron", "30 2 * * *", "--timezone", "Europe/Berlin", "--after", "2026-03-28T00:00Z"]

    head, first, second, change = cli(
        "preview", *words, "--count", "2", "--utc"
    ).stdout.splitlines()

    assert head.split() == ["Europe/Berlin", "UTC"]
    assert first == "Sat 2026-03-28 02:30:00+01:00  2026-03-28T01:30:00.000Z"
    assert second == "Sun 2026-03-29 03:00:00+02:00  2026-03-29T01:00:00.000Z"
    assert "1 wall time missing" in change


def test_programs_get_what_the_api_says(cli: Cli) -> None:
    shown = cli("preview", "--every", "1h", "--start-at", "2030-01-02T00:00Z", "--json").stdout
    assert json.loads(shown)["fires"][:2] == [
        "2030-01-02T00:00:00.000Z",
        "2030-01-02T01:00:00.000Z",
    ]


def test_the_schedule_of_a_job_may_come_from_a_file(cli: Cli) -> None:
    body = '{"cron_expression": "0 0 1 1 *", "timezone": "Asia/Tokyo"}'
    shown = cli("preview", "--file", "-", "--count", "1", input=body).stdout
    assert "Wed 2031-01-01 00:00:00+09:00" in shown


def test_a_schedule_that_never_fires_is_said_so(cli: Cli) -> None:
    words = ["--cron", "0 0 * * *", "--after", "2030-01-01T00:00Z", "--until", "2030-01-01T12:00Z"]
    assert "It does not fire." in cli("preview", *words).stderr


def test_a_wrong_schedule_is_refused_with_field_and_hint(cli: Cli) -> None:
    refused = cli("preview", "--cron", "0 0 * * *", "--timezone", "Europe/Berln", exits=1)

    assert "did you mean Europe/Berlin?" in refused.stderr
    assert "field: timezone" in refused.stderr
