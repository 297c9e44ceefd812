"""`redrive` finds the bus of a running stack, and gives its dead letters back."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from infra.local.valkey import Valkey
from lamplighter.adapters.streams.bus import StreamsBus
from lamplighter.contracts.dead_letters import dead_letter
from lamplighter.contracts.topics import DEAD_LETTERS, DEPENDENCY_EVENTS, WORKER_EVENTS
from lamplighter.ports.bus import Record


@pytest.fixture
def bus(folder: Path, tmp_path: Path) -> Iterator[StreamsBus]:
    """What `lamplighter up` leaves for others to read, and two dead letters on its bus."""
    with Valkey(folder) as server:
        yield from _two_letters(server.url, tmp_path)


def _two_letters(url: str, data: Path) -> Iterator[StreamsBus]:
    services = [{"name": "valkey", "url": url, "pid": 1}]
    state = {"url": "http://127.0.0.1:1", "services": services}
    (data / "stack.json").write_text(json.dumps(state), encoding="utf-8")
    bus = StreamsBus(url)
    bus.ensure_topics([DEAD_LETTERS, WORKER_EVENTS, DEPENDENCY_EVENTS])
    for topic in (WORKER_EVENTS, DEPENDENCY_EVENTS):
        record = Record(topic.name, 3, 7, b"\x1b[2Jkey", b"{", 0)
        bus.publish([dead_letter(record, "not JSON: line 1\nand more", "recorder")])
    yield bus
    bus.close()


def _type(folder: Path, *words: str, exits: int = 0) -> "subprocess.CompletedProcess[str]":
    """In a process of its own: it takes over the settings of the stack."""
    program = [sys.executable, "-c", "from lamplighter.cli.main import main; main()", "redrive"]
    rest = {name: value for name, value in os.environ.items() if "LAMPLIGHTER" not in name}
    words = ("--data", str(folder), *words)
    done = subprocess.run(
        [*program, *words], env=rest, capture_output=True, encoding="utf-8", check=False
    )
    assert done.returncode == exits, done.stderr
    return done


def test_letters_are_listed_then_returned_and_then_there_are_none(
    bus: StreamsBus, tmp_path: Path
) -> None:
    listed = _type(tmp_path, "--list").stdout
    some = json.loads(_type(tmp_path, "--topic", WORKER_EVENTS.name, "--json").stdout)
    rest = _type(tmp_path)

    assert all(c.isprintable() or c == "\n" for c in listed)
    assert [line.split()[2] for line in listed.splitlines()[1:]] == [
        WORKER_EVENTS.name,
        DEPENDENCY_EVENTS.name,
    ]
    assert [(each["topic"], each["fate"]) for each in some] == [
        (WORKER_EVENTS.name, "returned"),
        (DEPENDENCY_EVENTS.name, "stayed"),
    ]
    assert rest.stderr == "1 returned\n"
    assert "There are no dead letters." in _type(tmp_path, "--dry-run").stderr
    assert sum(bus.lags("anyone", [WORKER_EVENTS.name]).values()) == 1


def test_a_topic_that_is_none_is_refused_with_those_that_are(tmp_path: Path) -> None:
    state = {"url": "http://127.0.0.1:1", "services": []}
    (tmp_path / "stack.json").write_text(json.dumps(state), encoding="utf-8")

    refused = _type(tmp_path, "--topic", "job-event", exits=2).stderr

    assert "there is no topic 'job-event'; there are job-events, worker-events" in refused
    assert "job-runs.p1" in refused
