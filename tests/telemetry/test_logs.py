"""Lines of the log: facts with ids as keys, and never a secret or a payload."""

import json
import logging
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from io import StringIO
from typing import Any, TextIO
from uuid import uuid4

import pytest

from infra.local.lambdas import Context
from lamplighter import wiring
from lamplighter.domain.states import RunState
from lamplighter.telemetry.logs import (
    MOST_IDS,
    Behind,
    JsonLines,
    Lines,
    keys,
    listed,
    told_in_every_line,
    write_json,
)
from tests.telemetry.cell import Cell

log = logging.getLogger("lamplighter.test")
SECRET = "hunter2-and-more"


class Log:
    def __init__(self) -> None:
        self.text = StringIO()

    @property
    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.text.getvalue().splitlines()]

    def about(self, run_id: object) -> list[tuple[str, str]]:
        """Who said what of it, in that order."""
        return [
            (line["function"], line["message"])
            for line in self.lines
            if str(run_id) in line.get("run_ids", ()) or str(run_id) == line.get("run_id")
        ]


@pytest.fixture
def written() -> Iterator[Log]:
    """What a function on Lambda writes, whose handler was there before us."""
    made, root = Log(), logging.getLogger()
    before = list(root.handlers)
    root.handlers[:] = [logging.StreamHandler(made.text)]
    write_json("debug")
    yield made
    root.handlers[:] = before


def test_a_line_has_time_level_function_request_and_ids_as_keys(written: Log) -> None:
    with told_in_every_line(function="executor", request_id="r-1"):
        log.info("run claimed", extra=keys(run_id="a", fence=3))
    thread = threading.Thread(target=lambda: log.warning("%d left", 2))
    thread.start()
    thread.join()
    first, second = written.lines
    assert first.pop("time").endswith("Z")
    assert first == {
        "level": "INFO",
        "logger": "lamplighter.test",
        "message": "run claimed",
        "function": "executor",
        "request_id": "r-1",
        "run_id": "a",
        "fence": 3,
    }
    assert (second["message"], second["function"]) == ("2 left", "executor")
    assert "request_id" not in second


def test_whatever_is_said_a_line_comes_of_it(written: Log) -> None:
    try:
        int("bad\nthing")
    except ValueError:
        log.exception("it broke", extra=keys(what=object(), name="x", message="y", args=[uuid4()]))
    [line] = written.lines
    assert "ValueError: invalid literal" in line["exception"]
    assert line["name"] == "x"


def test_people_read_the_same_as_text() -> None:
    record = log.makeRecord(log.name, logging.INFO, "f", 1, "runs claimed", (), None)
    record.__dict__ |= keys(run_ids=["a", "b"], fence=3)
    assert Lines().format(record).endswith("INFO lamplighter.test runs claimed run_ids=a,b fence=3")
    assert json.loads(JsonLines().format(record))["run_ids"] == ["a", "b"]


def test_of_a_large_batch_a_line_names_some_and_all_only_to_who_looks_closely() -> None:
    ids = [uuid4() for _ in range(1_000)]
    log.setLevel(logging.INFO)
    assert len(listed(log, ids)) == MOST_IDS
    log.setLevel(logging.DEBUG)
    assert listed(log, ids) == [str(each) for each in ids]
    log.setLevel(logging.NOTSET)


def test_every_handler_names_its_function_and_request(written: Log) -> None:
    context = Context("x")

    @wiring.invoked
    def handler(_event: dict[str, Any], _context: Any) -> None:
        log.info("done")

    handler({}, context)
    [line] = written.lines
    assert (line["function"], line["request_id"]) == ("telemetry", context.aws_request_id)


def test_a_run_can_be_followed_through_the_lines_of_all_functions(
    start: Callable[..., Cell], written: Log
) -> None:
    cell = start()
    jobs = cell.post("/workflows", {"jobs": [{"name": "a"}, {"name": "b", "after": ["a"]}]})["jobs"]
    first, dependent = cell.run_until_done([jobs["a"], jobs["b"]])
    assert written.about(first.run_id) == [
        ("submit", "jobs submitted"),
        ("watcher", "runs published"),
        ("executor", "runs claimed"),
        ("recorder", "outcomes recorded"),
    ]
    assert written.about(dependent.run_id) == [
        ("resolver", "dependents judged"),
        ("watcher", "runs published"),
        ("executor", "runs claimed"),
        ("recorder", "outcomes recorded"),
    ]
    [submitted] = [line for line in written.lines if line["message"] == "jobs submitted"]
    assert sorted(submitted["job_ids"]) == sorted(jobs.values())
    assert submitted["tenant"] == "default"


def test_no_secret_and_no_payload_reaches_a_line(start: Callable[..., Cell], written: Log) -> None:
    """Neither what a job is given, nor what it says; also where it fails, or is refused."""
    cell = start(log_level="debug", webhook_secret=SECRET, allow_private_addresses="true")
    url = f"http://127.0.0.1:1/{SECRET}"
    bodies: list[dict[str, Any]] = [
        {"payload": {"password": SECRET}},
        {"payload": {"message": SECRET}, "target": {"type": "python", "handler": "builtin.fail"}},
        {"target": {"type": "http", "url": url, "headers": {"authorization": SECRET}}},
        {"metadata": {"token": SECRET}},
    ]
    jobs = [cell.post("/jobs", {"name": "x", "max_retries": 0, **body}) for body in bodies]
    runs = cell.run_until_done([job["job_id"] for job in jobs])
    for refused in ({"payload": SECRET, "priority": SECRET}, {"name": 7, "payload": [SECRET]}):
        with pytest.raises(AssertionError):
            cell.post("/jobs", refused)

    assert [run.state for run in runs].count(RunState.FAILED) == 2
    assert len(written.lines) > 10
    assert SECRET not in written.text.getvalue()
    password = str(wiring.settings().database_url).partition("://")[2].partition("@")[0]
    assert password.partition(":")[2] not in written.text.getvalue()


def _behind(stream: TextIO) -> logging.Logger:
    handler = Behind(stream)
    handler.setFormatter(Lines())
    log = logging.Logger("behind")  # noqa: LOG001 - this test's alone
    log.addHandler(handler)
    return log


def test_lines_of_many_threads_are_whole_and_each_ones_in_order() -> None:
    stream = StringIO()
    log = _behind(stream)

    def talk(name: str) -> None:
        for n in range(200):
            log.info("%s says %d", name, n)

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(talk, "abcdefgh"))
    log.handlers[0].flush()

    said = [line.rpartition("behind ")[2] for line in stream.getvalue().splitlines()]
    assert len(said) == 8 * 200
    for name in "abcdefgh":
        assert [line for line in said if line[0] == name] == [
            f"{name} says {n}" for n in range(200)
        ]


def test_a_process_that_ends_has_written_every_line() -> None:
    script = (
        "import logging; from lamplighter.telemetry.logs import write_text\n"
        "write_text('info')\n"
        "for n in range(1000): logging.getLogger('x').info('line %d', n)\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert [line.rpartition(" ")[2] for line in ended.stderr.splitlines()] == [
        str(n) for n in range(1000)
    ]


def test_a_stream_that_is_gone_stops_nobody() -> None:
    stream = StringIO()
    log = _behind(stream)
    stream.close()
    log.info("to nobody")
    log.handlers[0].flush()

    log.handlers[0].acquire()  # the platform's tools may still ask for a lock that is not there
    log.handlers[0].release()
