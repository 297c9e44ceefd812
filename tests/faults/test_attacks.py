"""People and messages that come all at once, and twice: nothing is lost, and nothing runs again.

On Valkey Streams alone: what is attacked is the ledger's judgement, and that knows no bus.
"""

import random
import tempfile
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final

import psycopg
import pytest

from lamplighter.adapters.streams.bus import StreamsBus
from lamplighter.contracts.topics import DEAD_LETTERS, all_topics
from lamplighter.ports.bus import Consumer, Message, Record
from tests.e2e.stack import Stack, until

pytestmark = pytest.mark.xdist_group("attacks")

THREADS: Final = 4
EDITS: Final = 10
# Refused, or given up in time: edits of one tenant take turns, and a busy machine is slow.
ANSWERS: Final = {200, 202, 404, 409, 422, 503}
NOOP: Final = {"type": "python", "handler": "builtin.noop"}
FAIL: Final = {"type": "python", "handler": "builtin.fail"}
SLEEP: Final = {"type": "python", "handler": "builtin.sleep"}
VICTIMS: Final[list[dict[str, Any]]] = [
    {"overlap": "forbid", "target": SLEEP, "payload": {"seconds": 1.5}},
    {"overlap": "queue", "target": NOOP},
    {"overlap": "replace", "target": SLEEP, "payload": {"seconds": 1.5}},
    {"overlap": "allow", "target": FAIL, "max_retries": 1, "backoff": {"base_seconds": 0.1}},
    {"overlap": "allow", "target": NOOP, "ordering_key": "one after the other"},
    {"overlap": "allow", "target": NOOP, "max_concurrency": 2, "concurrency_key": "two"},
]
CHANGES: Final[list[dict[str, Any]]] = [
    {"interval_seconds": 2},
    {"cron_expression": "* * * * * *"},
    {"overlap": "queue"},
    {"ordering_key": "one after the other"},
    {"fan_out": ["default", "tasks"]},
    {"fan_out": None},
    {"priority": 1},
]


@pytest.fixture(scope="module")
def stack() -> Iterator[Stack]:
    with (
        tempfile.TemporaryDirectory(prefix="lamplighter-") as folder,
        Stack(Path(folder) / "data") as running,
    ):
        yield running


def test_edits_from_all_sides_lose_nothing_and_run_nothing_twice(stack: Stack) -> None:
    jobs = [stack.submit(schedule_type="INTERVAL", interval_seconds=1, **each) for each in VICTIMS]
    jobs += [stack.submit(after=[job], trigger_rule="all_done") for job in jobs[:2]]

    with ThreadPoolExecutor(THREADS) as people:
        answers = list(people.map(lambda seed: _meddle(stack, jobs, seed), range(THREADS)))

    for job in jobs:
        until(partial(_cancelled, stack, job), f"{job} is cancelled")
    assert {status for each in answers for status in each} <= ANSWERS
    until(lambda: _open(stack) == 0, "all that was due has ended")
    stack.verify()


def test_messages_that_are_all_delivered_again_change_nothing(stack: Stack) -> None:
    # Late enough to be submitted before the first fire, however slow the machine is.
    first = datetime.now(UTC) + timedelta(seconds=8)
    span = {"start_at": first.isoformat(), "end_at": (first + timedelta(seconds=3.5)).isoformat()}
    bus = StreamsBus(stack.service_url("valkey"))
    with _overheard(bus) as heard:
        every = {"schedule_type": "INTERVAL", "interval_seconds": 1, **span}
        failing = stack.submit(target=FAIL, max_retries=1, backoff={"base_seconds": 0.1}, **every)
        working = stack.submit(command="true", **every)
        waiting = stack.submit(after=[failing], trigger_rule="all_done")
        for job in (failing, working, waiting):
            stack.ended(job, 4)
        before = _ledger(stack)

        again = [Message(each.topic, each.value, each.key, each.headers) for each in heard]
        random.Random(1).shuffle(again)  # noqa: S311 - an order, not a secret
        bus.publish(again)
        bus.publish(again)
        until(lambda: len(heard) >= 3 * len(again), "all of them are delivered")
        stack.ended(stack.submit(target=NOOP))

    assert len(before) >= 12
    assert _ledger(stack)[: len(before)] == before
    bus.close()
    stack.verify()


def _meddle(stack: Stack, jobs: list[str], seed: int) -> list[int]:
    dice = random.Random(seed)  # noqa: S311 - a die, not a secret
    return [_edit(stack, dice, dice.choice(jobs)) for _ in range(EDITS)]


def _edit(stack: Stack, dice: random.Random, job: str) -> int:
    what = dice.choice(["pause", "resume", "runNow", "edit", "cancel a run"])
    if what == "edit":
        return stack.ask("PUT", f"/jobs/{job}", dice.choice(CHANGES)).status
    if what == "cancel a run":
        runs = stack.get(f"/jobs/{job}/runs?limit=3&planned=true")
        return stack.ask("POST", f"/runs/{dice.choice(runs)['run_id']}/cancel").status
    return stack.ask("POST", f"/jobs/{job}/{what}").status


def _cancelled(stack: Stack, job: str) -> bool:
    return stack.ask("DELETE", f"/jobs/{job}").status == HTTPStatus.OK


@contextmanager
def _overheard(bus: StreamsBus) -> Iterator[list[Record]]:
    """Every message from now on, as a group of its own hears it."""
    heard: list[Record] = []
    over = threading.Event()
    ear = bus.consumer("ear", [each.name for each in _topics()])
    listening = threading.Thread(target=_listen, args=(ear, heard, over))
    listening.start()
    try:
        yield heard
    finally:
        over.set()
        listening.join()
        ear.close()


def _topics() -> list[Any]:
    return [each for each in all_topics(("default", "tasks")) if each != DEAD_LETTERS]


def _listen(ear: Consumer, heard: list[Record], over: threading.Event) -> None:
    while not over.is_set():
        records = ear.poll(500, 0.2)
        heard += records
        ear.commit(records)


def _open(stack: Stack) -> int:
    with psycopg.connect(stack.database_url) as conn:
        [(number,)] = conn.execute("SELECT count(*) FROM job_runs WHERE status < 10").fetchall()
    return int(number)


def _ledger(stack: Stack) -> list[tuple[Any, ...]]:
    """Every run that has ended, with all that a second delivery might touch."""
    with psycopg.connect(stack.database_url) as conn:
        return conn.execute(
            "SELECT run_id, status, fence, attempt_number, losses, start_time, end_time, reason"
            " FROM job_runs WHERE status >= 10 ORDER BY end_time, run_id"
        ).fetchall()
