"""Telemetry: lines that CloudWatch makes metrics of."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from lamplighter.domain.policy import JobClass
from lamplighter.domain.states import RunState
from lamplighter.ports.rollups import Rollup
from lamplighter.telemetry import Telemetry, count_endings, on_lambda


class Lines(list[dict[str, Any]]):
    def write(self, line: str) -> None:
        assert "\n" not in line
        self.append(json.loads(line))


def test_what_is_counted_in_an_invocation_leaves_as_one_line_per_dimensions() -> None:
    lines = Lines()
    telemetry = Telemetry(lines.write, now=lambda: 1_900_000_000.5)

    with telemetry.invocation():
        telemetry.count("Runs", 3, pool="eu")
        telemetry.count("Runs", 4, pool="eu")
        telemetry.count("Late", 250, "Milliseconds", pool="eu")
        telemetry.count("Runs", pool="us")
        assert lines == []

    first, second = lines
    assert first["_aws"] == {
        "Timestamp": 1_900_000_000_500,
        "CloudWatchMetrics": [
            {
                "Namespace": "Lamplighter",
                "Dimensions": [["pool"]],
                "Metrics": [
                    {"Name": "Runs", "Unit": "Count"},
                    {"Name": "Late", "Unit": "Milliseconds"},
                ],
            }
        ],
    }
    assert (first["pool"], first["Runs"], first["Late"]) == ("eu", [3, 4], [250])
    assert (second["pool"], second["Runs"]) == ("us", [1])


def test_a_line_has_no_more_values_than_cloudwatch_takes() -> None:
    lines = Lines()
    telemetry = Telemetry(lines.write)
    for n in range(250):
        telemetry.count("Runs", n)
    telemetry.count("Once")
    telemetry.flush()
    assert [len(line["Runs"]) for line in lines] == [100, 100, 50]
    assert [line.get("Once") for line in lines] == [[1], None, None]


def test_a_handler_that_fails_has_counted_too() -> None:
    lines = Lines()
    telemetry = Telemetry(lines.write)

    def handler() -> None:
        with telemetry.invocation():
            telemetry.count("Runs")
            raise ValueError("bad")

    with pytest.raises(ValueError, match="bad"):
        handler()
    assert len(lines) == 1
    telemetry.flush()
    assert len(lines) == 1


def test_elsewhere_than_on_lambda_nothing_is_written(capsys: pytest.CaptureFixture[str]) -> None:
    for enabled in (False, True):
        telemetry = on_lambda(enabled=enabled)
        telemetry.count("Runs")
        telemetry.flush()
        assert bool(capsys.readouterr().out) is enabled


def test_endings_are_counted_by_pool_class_and_status_and_never_by_id() -> None:
    lines = Lines()
    telemetry = Telemetry(lines.write)
    noon = datetime(2030, 1, 1, 12, tzinfo=UTC)
    rollup = Rollup(noon, "acme", "eu", JobClass.P1, RunState.FAILED, 3, 900, 20, 10)

    count_endings(telemetry, [rollup])
    telemetry.flush()

    dimensions = [line["_aws"]["CloudWatchMetrics"][0]["Dimensions"] for line in lines]
    assert dimensions == [[["class", "pool", "status"]], [["class", "pool"]]]
    assert (lines[0]["Runs"], lines[0]["status"]) == ([3], "FAILED")
    assert (lines[1]["RunMilliseconds"], lines[1]["MaxLateness"]) == ([900], [10])
