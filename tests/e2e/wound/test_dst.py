"""Nights on which the clock changes, lived through: what ran, and when.

Over Streams, and one night over Kafka: a bus has no clock. Each night is walked once, with a job
for every policy.
"""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import pytest

from tests.e2e.wound.world import World, Worlds

BERLIN: Final = "Europe/Berlin"
LORD_HOWE: Final = "Australia/Lord_Howe"  # its clock changes by half an hour
NIGHTLY: Final = {"cron_expression": "30 2 * * *"}
AROUND: Final = timedelta(hours=2, minutes=25)
JOBS: Final[dict[str, dict[str, Any]]] = {
    "shift": {**NIGHTLY, "dst": {"gap": "shift"}},
    "skip": {**NIGHTLY, "dst": {"gap": "skip"}},
    "first": {**NIGHTLY, "dst": {"overlap": "first"}},
    "second": {**NIGHTLY, "dst": {"overlap": "second"}},
    "both": {**NIGHTLY, "dst": {"overlap": "both"}},
    "hourly": {"cron_expression": "0 * * * *"},
    "even hours": {"cron_expression": "0 */2 * * *"},
}


class Night:
    """From some hours before the clock changes until some hours after it."""

    def __init__(self, world: World, zone: str, change: datetime, wall: str) -> None:
        self._world = world
        self._since, self._until = change - AROUND, change + AROUND
        self._bodies = {
            name: {"schedule_type": "CRON", "timezone": zone, **_at(body, wall)}
            for name, body in JOBS.items()
        }
        self._jobs = {name: world.submit(**body) for name, body in self._bodies.items()}
        world.walk(self._until)

    def ran(self, job: str) -> list[str]:
        """When, in UTC, as the ledger has it. Everything ran, on time, and preview knew it."""
        runs = [run for run in self._world.runs(self._jobs[job]) if run.fire_at < self._until]
        assert {run.state.name for run in runs} <= {"SUCCESS"}
        body = self._bodies[job]
        fires = [run.fire_at for run in runs]
        assert fires == self._world.preview(self._since, self._until, **body)
        self._world.verify()
        return [f"{fire:%H:%M}" for fire in fires]


def _at(body: dict[str, Any], wall: str) -> dict[str, Any]:
    nightly = body["cron_expression"] == NIGHTLY["cron_expression"]
    hour, minute = wall.split(":")
    return {**body, "cron_expression": f"{minute} {hour} * * *"} if nightly else body


def _night(zone: str, change: datetime, wall: str) -> Callable[[Worlds], Night]:
    def fixture(worlds: Worlds) -> Night:
        return Night(worlds(change - AROUND), zone, change, wall)

    return pytest.fixture(scope="module")(fixture)


# 02:00 becomes 03:00 at 01:00 UTC.
berlin_gap = _night(BERLIN, datetime(2026, 3, 29, 1, tzinfo=UTC), "2:30")
# 03:00 becomes 02:00 at 01:00 UTC.
berlin_overlap = _night(BERLIN, datetime(2026, 10, 25, 1, tzinfo=UTC), "2:30")
# 02:00 becomes 02:30 at 15:30 UTC.
howe_gap = _night(LORD_HOWE, datetime(2026, 10, 3, 15, 30, tzinfo=UTC), "2:15")
# 02:00 becomes 01:30 at 15:00 UTC.
howe_overlap = _night(LORD_HOWE, datetime(2026, 4, 4, 15, tzinfo=UTC), "1:45")


def test_dst_gap_shift_runs_at_the_first_instant_after_the_gap(
    berlin_gap: Night, howe_gap: Night
) -> None:
    assert berlin_gap.ran("shift") == ["01:00"]
    assert howe_gap.ran("shift") == ["15:30"]


def test_dst_gap_skip_does_not_run_that_night(berlin_gap: Night, howe_gap: Night) -> None:
    assert berlin_gap.ran("skip") == []
    assert howe_gap.ran("skip") == []


def test_dst_overlap_first_runs_at_the_first_showing(
    berlin_overlap: Night, howe_overlap: Night
) -> None:
    assert berlin_overlap.ran("first") == ["00:30"]
    assert howe_overlap.ran("first") == ["14:45"]


def test_dst_overlap_second_runs_at_the_second_showing(
    berlin_overlap: Night, howe_overlap: Night
) -> None:
    assert berlin_overlap.ran("second") == ["01:30"]
    assert howe_overlap.ran("second") == ["15:15"]


def test_dst_overlap_both_runs_twice(berlin_overlap: Night, howe_overlap: Night) -> None:
    assert berlin_overlap.ran("both") == ["00:30", "01:30"]
    assert howe_overlap.ran("both") == ["14:45", "15:15"]


@pytest.mark.kafka
def test_dst_overlap_of_each_policy_over_kafka(worlds: Worlds) -> None:
    change = datetime(2026, 10, 25, 1, tzinfo=UTC)

    night = Night(worlds(change - AROUND, "kafka"), BERLIN, change, "2:30")

    assert night.ran("first") == ["00:30"]
    assert night.ran("second") == ["01:30"]
    assert night.ran("both") == ["00:30", "01:30"]


def test_a_wildcard_hour_follows_elapsed_time(
    berlin_gap: Night, berlin_overlap: Night, howe_overlap: Night
) -> None:
    every_hour = ["23:00", "00:00", "01:00", "02:00", "03:00"]
    assert berlin_gap.ran("hourly") == every_hour
    assert berlin_overlap.ran("hourly") == every_hour
    assert berlin_gap.ran("even hours") == ["23:00", "02:00"]
    assert berlin_overlap.ran("even hours") == ["00:00", "01:00", "03:00"]
    # From the moment at which it shows 01:30 again, its hours begin at half past.
    assert howe_overlap.ran("hourly") == ["13:00", "14:00", "15:30", "16:30"]
