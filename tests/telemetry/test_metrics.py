"""Metrics: lines that CloudWatch makes them of, by the rules of its format."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import msgspec
import pytest

from infra.aws.cost.sizes import quiet_series
from lamplighter import wiring
from lamplighter.contracts.messages import JobEvent, JobEventType
from lamplighter.contracts.topics import all_topics
from lamplighter.domain.canary import INTERNAL_TENANT, canary_id
from lamplighter.domain.ids import run_id
from lamplighter.domain.run import Outcome, Recorded, Settled, Verdict
from lamplighter.domain.states import RunState
from lamplighter.stages.aftermath import Folded, seen
from lamplighter.stages.measure import measure
from lamplighter.stages.standing import Gauge
from lamplighter.telemetry import Telemetry
from lamplighter.telemetry.metrics import (
    BACKLOG,
    DEAD_LETTERS,
    DURATION,
    EXECUTIONS,
    FAILURES,
    METRICS,
    QUEUE_DEPTH,
    START_LATENESS,
)
from tests.stages.watch_world import World
from tests.telemetry.emf_rules import checked

NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)


class Lines(list[dict[str, Any]]):
    def write(self, line: str) -> None:
        self.append(checked(line))

    def sets(self) -> list[list[list[str]]]:
        return [line["_aws"]["CloudWatchMetrics"][0]["Dimensions"] for line in self]

    def values(self, name: str, **where: str) -> list[float]:
        """Of all lines that are of there, and of nowhere else."""
        chosen = [
            line
            for line in self
            if name in line and {each: line.get(each) for each in ("Pool", "Class")}
            == {"Pool": where.get("pool"), "Class": where.get("of_class")}
        ]  # fmt: skip
        return [value for line in chosen for value in line[name]]


@pytest.fixture
def lines() -> Lines:
    return Lines()


@pytest.fixture
def telemetry(lines: Lines) -> Telemetry:
    return Telemetry(lines.write, "eu-1", now=lambda: 1_900_000_000.5)


def test_what_is_counted_leaves_as_one_line_per_set_of_dimensions(
    telemetry: Telemetry, lines: Lines
) -> None:
    telemetry.add(START_LATENESS, [1, 250], "eu", "P1")
    telemetry.count(EXECUTIONS, 3, "eu", "P1")
    telemetry.count(EXECUTIONS, 4, "eu", "P1")
    telemetry.count(EXECUTIONS, 1, "us", "P1")
    telemetry.count(DEAD_LETTERS)
    assert lines == []

    telemetry.flush()

    first, second, third = lines
    assert first["_aws"] == {
        "Timestamp": 1_900_000_000_500,
        "CloudWatchMetrics": [
            {
                "Namespace": "Lamplighter",
                "Dimensions": [["Cell", "Pool", "Class"], ["Cell"]],
                "Metrics": [
                    {"Name": "StartLateness", "Unit": "Milliseconds"},
                    {"Name": "Executions", "Unit": "Count"},
                ],
            }
        ],
    }
    assert (first["Cell"], first["Pool"], first["Class"]) == ("eu-1", "eu", "P1")
    assert (first["StartLateness"], first["Executions"]) == ([1, 250], [7])
    assert (second["Pool"], second["Executions"]) == ("us", [1])
    assert (third["DeadLetters"], lines.sets()[2]) == ([1], [["Cell"]])


def test_a_thousand_values_are_ten_lines_of_what_cloudwatch_takes(
    telemetry: Telemetry, lines: Lines
) -> None:
    telemetry.add(DURATION, list(range(1_000)), "eu", "P1")
    telemetry.count(EXECUTIONS, 1_000, "eu", "P1")
    telemetry.flush()
    assert [len(line["Duration"]) for line in lines] == [100] * 10
    assert [line.get("Executions") for line in lines] == [[1_000], *[None] * 9]


def test_a_state_of_the_cell_is_told_by_itself_and_not_summed_from_its_parts(
    telemetry: Telemetry, lines: Lines
) -> None:
    telemetry.count(QUEUE_DEPTH, 30, "eu", "P1")
    telemetry.count(BACKLOG, 70, "eu")
    telemetry.count(QUEUE_DEPTH, 30)
    telemetry.flush()
    assert lines.sets() == [[["Cell", "Pool", "Class"]], [["Cell", "Pool"]], [["Cell"]]]


def test_no_metric_is_told_apart_by_an_id() -> None:
    assert {dimension for metric in METRICS for dimension in metric.by} == {"Pool", "Class"}


def test_a_process_that_lives_long_tells_every_now_and_then(lines: Lines) -> None:
    clock = [0.0]
    telemetry = Telemetry(lines.write, steady=lambda: clock[0])
    telemetry.count(DEAD_LETTERS)
    assert lines == []
    clock[0] = 11.0
    telemetry.count(DEAD_LETTERS)
    assert [line["DeadLetters"] for line in lines] == [[2]]


def test_a_handler_that_fails_has_counted_too(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("AWS_LAMBDA_FUNCTION_NAME", "recorder")
    wiring.forget()

    @wiring.invoked
    def handler(_event: dict[str, Any], _context: object) -> None:
        wiring.telemetry().count(DEAD_LETTERS)
        raise ValueError("bad")

    with pytest.raises(ValueError, match="bad"):
        handler({}, None)
    wiring.forget()

    assert checked(capsys.readouterr().out.strip())["DeadLetters"] == [1]


def test_elsewhere_than_on_aws_nothing_is_written(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for variable in ("", "AWS_LAMBDA_FUNCTION_NAME", "ECS_CONTAINER_METADATA_URI_V4"):
        if variable:
            monkeypatch.setenv(variable, "x")
        wiring.forget()
        wiring.telemetry().count(DEAD_LETTERS)
        wiring.flush()
        assert bool(capsys.readouterr().out) is bool(variable)
        if variable:
            monkeypatch.delenv(variable)
    wiring.forget()


# What the recorder tells.


def _began(**fields: Any) -> JobEvent:
    job_id = uuid4()
    started = JobEvent(
        event_type=JobEventType.RUNNING,
        job_id=job_id,
        tenant="acme",
        at=NOON,
        run_id=run_id(job_id, NOON, "eu"),
        attempt=1,
        pool="eu",
        priority=1,
        due_at=NOON,
        started_at=NOON + timedelta(milliseconds=40),
    )
    return msgspec.structs.replace(started, **fields)


def _told(telemetry: Telemetry, *events: tuple[JobEvent, RunState | None]) -> None:
    all_seen = []
    for event, state in events:
        if state is None:
            all_seen.append(seen(event, None))
            continue
        assert event.run_id is not None
        at = NOON + timedelta(seconds=1)
        outcome = Outcome(run_id=event.run_id, fence=1, verdict=Verdict.SUCCESS, ended_at=at)
        settled = Settled(event.run_id, event.job_id, Recorded.ACCEPTED, state)
        ended = msgspec.structs.replace(
            event, event_type=JobEventType.COMPLETED, outcome=outcome, at=at
        )
        all_seen.append(seen(ended, settled))
    measure(telemetry, Folded(all_seen))
    telemetry.flush()


def test_a_start_is_measured_when_it_happens_and_only_that_of_the_first_attempt(
    telemetry: Telemetry, lines: Lines
) -> None:
    early = _began(started_at=NOON - timedelta(milliseconds=3))
    _told(telemetry, (_began(), None), (_began(attempt=2), None), (early, None))
    assert lines.values("StartLateness", pool="eu", of_class="P1") == [40, 0]
    assert lines.values("Executions", pool="eu", of_class="P1") == []


def test_endings_are_counted_by_pool_and_class(telemetry: Telemetry, lines: Lines) -> None:
    endings = [RunState.SUCCESS, RunState.FAILED, RunState.TIMED_OUT, RunState.CANCELLED]
    _told(telemetry, *[(_began(), state) for state in endings], (_began(pool="us"), endings[0]))
    assert lines.values("Executions", pool="eu", of_class="P1") == [3]
    assert lines.values("Failures", pool="eu", of_class="P1") == [2]
    assert lines.values("Duration", pool="eu", of_class="P1") == [960] * 3
    assert lines.values("Failures", pool="us", of_class="P1") == [0]
    assert FAILURES.name in lines[1], "0 of 1 is a rate too"


def _of_canary() -> dict[str, Any]:
    fire = run_id(canary_id(0), NOON, "eu")
    return {"job_id": canary_id(0), "run_id": fire, "tenant": INTERNAL_TENANT}


def test_a_canary_that_came_back_tells_how_late_it_was(telemetry: Telemetry, lines: Lines) -> None:
    fields = _of_canary()
    _told(telemetry, (_began(**fields), RunState.SUCCESS), (_began(), RunState.SUCCESS))
    assert lines.values("CanaryLatenessMs") == [40]


def test_a_canary_that_failed_has_not_come_back(telemetry: Telemetry, lines: Lines) -> None:
    fields = _of_canary()
    _told(telemetry, (_began(**fields), RunState.FAILED))
    assert lines.values("CanaryLatenessMs") == []


def _series(lines: Lines) -> set[tuple[str, ...]]:
    """As CloudWatch counts them: a name, and a value for each dimension of a set."""
    return {
        (each["Name"], *(line[name] for name in names))
        for line in lines
        for directive in line["_aws"]["CloudWatchMetrics"]
        for names in directive["Dimensions"]
        for each in directive["Metrics"]
    }


def test_an_hour_with_nothing_but_a_canary_tells_what_the_bill_counts(
    telemetry: Telemetry, lines: Lines
) -> None:
    pools, world = ("default", "tasks"), World()
    world.bus.ensure_topics(all_topics(pools))
    world.queue.begin(1, world.ledger.now(), world.ledger.now())
    world.submit(-1.0)
    world.queue.tick(1, world.ledger.now(), {"default": 0}, 10)
    seen: Any = world
    gauge = Gauge(telemetry, seen.seen_ledger, seen.seen_queue, seen.seen_bus, pools)

    gauge.leads()
    gauge.look(world.ledger.now())
    began = _began(**_of_canary(), pool="default", priority=5)
    _told(telemetry, (began, None), (began, RunState.SUCCESS))

    assert len(_series(lines)) == quiet_series(len(pools))
