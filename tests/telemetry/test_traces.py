"""Traces: one connected whole, from a submission to its last completion; and where they go."""

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import msgspec
import pytest

from lamplighter import wiring
from lamplighter.adapters.targets.aws.calls import about, attributes
from lamplighter.adapters.targets.command.environment import environment_of
from lamplighter.adapters.targets.http.target import about as http_headers
from lamplighter.adapters.traces.file import FileSpans
from lamplighter.adapters.traces.xray import SpansRefused, XRaySpans, as_segment
from lamplighter.domain.ids import run_id as run_id_of
from lamplighter.domain.run import Claimed
from lamplighter.domain.states import RunState
from lamplighter.domain.traces import SpanRef, read_traceparent, span_of, traceparent
from lamplighter.ports.traces import Span
from lamplighter.stages.trace import Tracer
from lamplighter.wiring import around
from tests.telemetry.cell import Cell

CLIENT = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)


class Trace:
    """The spans of a file, and what leads from one to another."""

    def __init__(self, path: Path) -> None:
        self.spans = [json.loads(line) for line in path.read_text().splitlines()]

    def named(self, name: str, trace_id: str) -> list[dict[str, Any]]:
        return [s for s in self.spans if (s["name"], s["traceId"]) == (name, trace_id)]

    def reached_from(self, trace_id: str, span_id: str) -> set[tuple[str, str]]:
        """Along parents and links, in both directions."""
        edges: dict[tuple[str, str], set[tuple[str, str]]] = {}
        for span in self.spans:
            here = (span["traceId"], span["spanId"])
            there = [(link["traceId"], link["spanId"]) for link in span["links"]]
            if span["parentSpanId"]:
                there.append((span["traceId"], span["parentSpanId"]))
            for each in there:
                edges.setdefault(here, set()).add(each)
                edges.setdefault(each, set()).add(here)
        found, ahead = set[tuple[str, str]](), [(trace_id, span_id)]
        while ahead:
            here = ahead.pop()
            if here not in found:
                found.add(here)
                ahead += edges.get(here, ())
        return found


def _workflow(attempts: int) -> dict[str, Any]:
    fails_once = {"type": "python", "handler": "builtin.fail"}
    return {
        "jobs": [
            {
                "name": "a",
                "target": fails_once,
                "payload": {"attempts": attempts},
                "backoff": {"base_seconds": 0.1},
            },
            {"name": "b", "after": ["a"]},
        ]
    }


def test_a_run_its_retry_and_its_dependent_are_one_connected_trace(
    start: Callable[..., Cell], folder: Path
) -> None:
    cell = start(traces="true")
    jobs = cell.post("/workflows", _workflow(attempts=1), traceparent=CLIENT)["jobs"]

    first, dependent = cell.run_until_done([jobs["a"], jobs["b"]])

    assert (first.state, first.attempt_number) == (RunState.SUCCESS, 2)
    assert dependent.state is RunState.SUCCESS
    trace = Trace(folder / "traces.jsonl")
    _, client_trace, client_span, _ = CLIENT.split("-")
    reached = trace.reached_from(client_trace, client_span)
    assert {(span["traceId"], span["spanId"]) for span in trace.spans} <= reached
    assert reached - {(span["traceId"], span["spanId"]) for span in trace.spans} == {
        (client_trace, client_span)  # every parent and every link is a span that was told
    }
    names = sorted(s["name"] for s in trace.spans if s["traceId"] == first.run_id.hex)
    assert names == sorted([*["publish", "claim", "attempt", "record"] * 2, "run"])
    names = sorted(s["name"] for s in trace.spans if s["traceId"] == dependent.run_id.hex)
    assert names == ["attempt", "claim", "free", "publish", "record", "run"]
    attempts = trace.named("attempt", first.run_id.hex)
    assert [span["status"] for span in attempts] == ["ERROR", "OK"]
    [whole] = trace.named("run", first.run_id.hex)
    assert all(span["endTimeUnixNano"] >= span["startTimeUnixNano"] for span in trace.spans)
    assert whole["startTimeUnixNano"] <= attempts[0]["startTimeUnixNano"]


def test_without_a_trace_of_the_clients_one_begins_at_the_submission(
    start: Callable[..., Cell], folder: Path
) -> None:
    cell = start(traces="true")
    job_id = cell.post("/jobs", {"name": "x"})["job_id"]
    [run] = cell.run_until_done([job_id])
    trace = Trace(folder / "traces.jsonl")
    [request] = [span for span in trace.spans if span["name"] == "submit"]
    reached = trace.reached_from(request["traceId"], request["spanId"])
    assert (run.run_id.hex, span_of(run.run_id, "run").span_id) in reached


def test_by_default_nothing_is_traced(start: Callable[..., Cell], folder: Path) -> None:
    cell = start()
    cell.run_until_done([cell.post("/jobs", {"name": "x"}, traceparent=CLIENT)["job_id"]])
    assert not (folder / "traces.jsonl").exists()


class Kept(list[Span]):
    def put(self, spans: Any) -> None:
        self.extend(spans)


def _run_id() -> UUID:
    """Not any id: it holds its fire, and a year above 9999 is none."""
    return run_id_of(uuid4(), NOON, "default")


def _claimed(run_id: UUID) -> Claimed:
    fields = (run_id, uuid4(), "t", "default", 1, 1, NOON, "x", 5, None, None, None)
    return Claimed(*fields)


def test_of_many_runs_some_are_traced_and_all_functions_agree_which() -> None:
    runs = [_claimed(_run_id()) for _ in range(400)]
    one, another = Kept(), Kept()
    Tracer(one, 10).claimed(runs, NOON)
    Tracer(another, 10).claimed(runs, NOON)
    assert 10 < len(one) < 90
    assert {span.ref for span in one} == {span.ref for span in another}
    told = [run for run in runs if Tracer(one, 10).traceparent(run)]
    assert len(told) == len(one)


def test_targets_are_told_of_the_attempt_that_calls_them() -> None:
    untraced = _claimed(_run_id())
    told = traceparent(untraced.run_id, 1)
    traced = msgspec.structs.replace(untraced, traceparent=told)
    assert http_headers(traced)["traceparent"] == told
    assert environment_of(traced)["TRACEPARENT"] == told
    assert about(traced)["traceparent"] == told
    assert attributes(traced, {})["traceparent"]["StringValue"] == told
    for without in (http_headers(untraced), environment_of(untraced), about(untraced)):
        assert "traceparent" not in {name.lower() for name in without}


def test_a_message_keeps_the_jobs_own_attributes_before_the_traces() -> None:
    traced = msgspec.structs.replace(_claimed(_run_id()), traceparent=CLIENT)
    six = {f"own{n}": "x" for n in range(6)}
    assert len(attributes(traced, six)) == 10
    assert "traceparent" not in attributes(traced, six)
    del six["own0"]
    assert "traceparent" in attributes(traced, six)


@pytest.mark.parametrize(
    "header",
    [None, "", "x", CLIENT[:-1], "ff" + CLIENT[2:], "00-" + "0" * 32 + CLIENT[35:], CLIENT + "!"],
)
def test_what_is_no_traceparent_begins_a_new_trace(header: str | None) -> None:
    assert read_traceparent(header) is None


def test_a_traceparent_is_read_and_written() -> None:
    run_id = uuid4()
    written = read_traceparent(traceparent(run_id, 3))
    assert written == span_of(run_id, "attempt", 3)
    assert written != span_of(run_id, "attempt", 2)
    assert read_traceparent(CLIENT) == SpanRef(CLIENT[3:35], CLIENT[36:52])
    assert read_traceparent(f"01{CLIENT[2:]}-later") == read_traceparent(CLIENT)


def _span(**fields: Any) -> Span:
    ref = span_of(UUID(int=7 << 96 | 5), "run")
    given: dict[str, Any] = {
        "name": "run",
        "ref": ref,
        "start": NOON,
        "end": NOON + timedelta(seconds=1),
    }
    return Span(**(given | fields))


def test_a_segment_is_what_x_ray_reads() -> None:
    other = span_of(uuid4(), "job")
    span = _span(parent_id="00f067aa0ba902b7", links=(other,), failed=True, attributes={"a": 1})
    segment = json.loads(as_segment(span))
    assert segment == {
        "name": "lamplighter.run",
        "id": span.ref.span_id,
        "trace_id": "1-00000007-000000000000000000000005",
        "parent_id": "00f067aa0ba902b7",
        "start_time": NOON.timestamp(),
        "end_time": NOON.timestamp() + 1,
        "annotations": {"a": 1},
        "links": [
            {
                "trace_id": f"1-{other.trace_id[:8]}-{other.trace_id[8:]}",
                "id": other.span_id,
            }
        ],
        "fault": True,
    }
    assert "parent_id" not in json.loads(as_segment(_span()))


class _XRay:
    """botocore's stand-in: checks every call against the service's own model."""

    def __init__(self, unprocessed: list[dict[str, str]] | None = None) -> None:
        import boto3
        from botocore.stub import ANY, Stubber

        self.client = boto3.client(
            "xray", region_name="eu-central-1", aws_access_key_id="x", aws_secret_access_key="x"
        )
        self.stub = Stubber(self.client)
        answer = {"UnprocessedTraceSegments": unprocessed or []}
        for _ in range(2):
            self.stub.add_response("put_trace_segments", answer, {"TraceSegmentDocuments": ANY})
        self.stub.activate()

    def get(self, service: str, *, read_seconds: float, repeat: bool) -> Any:
        assert (service, repeat) == ("xray", False)
        assert read_seconds < 10
        return self.client


def test_segments_go_fifty_at_a_time() -> None:
    clients = _XRay()
    XRaySpans(clients).put([_span() for _ in range(60)])
    clients.stub.assert_no_pending_responses()


def test_segments_that_are_refused_say_why() -> None:
    clients = _XRay([{"Id": "1", "ErrorCode": "ParseError", "Message": "no name"}])
    with pytest.raises(SpansRefused, match="1 of 1 segments, ParseError: no name"):
        XRaySpans(clients).put([_span()])


def test_where_nobody_takes_spans_nobody_waits_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    class Nowhere:
        tries = 0

        def put(self, _spans: Any) -> None:
            self.tries += 1
            raise TimeoutError("no endpoint")

    nowhere = Nowhere()
    monkeypatch.setenv("LAMPLIGHTER_TRACES", "true")
    monkeypatch.setattr(around, "_spans", lambda: nowhere)
    wiring.forget()
    for _ in range(3):
        tracer = wiring.tracer()
        assert tracer is not None
        tracer.submitted(None, [uuid4()], NOON)
        wiring.flush()
    wiring.forget()
    assert nowhere.tries == 1


def test_the_file_does_not_grow_for_ever(tmp_path: Path) -> None:
    path = tmp_path / "traces.jsonl"
    spans = FileSpans(path, largest=10)
    for _ in range(3):
        spans.put([_span()])
    assert len(path.read_text().splitlines()) == 1
    assert len(path.with_name("traces.jsonl.before").read_text().splitlines()) == 1
