"""How tests break a running stack, and how they look at who leads it."""

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from http import HTTPStatus
from http.client import HTTPException
from itertools import pairwise
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg

from tests.e2e.stack import FINAL, Answer, Stack, until

CREATED, ACCEPTED = HTTPStatus.CREATED, HTTPStatus.ACCEPTED


def insist(stack: Stack, body: dict[str, Any], seconds: float = 60.0) -> tuple[str, int]:
    """The new job's id, and how the answer came."""
    answer = insist_on(stack, "POST", "/jobs", {"name": "a job", **body}, seconds)
    return str(answer.body["job_id"]), answer.status


def insist_on(
    stack: Stack, method: str, path: str, body: Any = None, seconds: float = 60.0
) -> Answer:
    """The good answer that comes in the end: asked again under the same key, as a client does."""
    key = {"Idempotency-Key": uuid4().hex}

    def accepted() -> Answer | None:
        try:
            answer = stack.ask(method, path, body, key)
        except (OSError, HTTPException):
            return None  # the gateway has died over it
        return answer if answer.status in {HTTPStatus.OK, CREATED, ACCEPTED} else None

    return until(accepted, f"accepted: {method} {path} {body}", seconds)


@contextmanager
def frozen(stack: Stack, name: str) -> Iterator[None]:
    """A service that is there and does nothing, as behind a network that swallows everything."""
    pid = stack.component(name)
    assert pid is not None
    # Those that listen first: otherwise they make more of those that serve.
    processes = [pid, *_children(pid)]
    for each in processes:
        os.kill(each, signal.SIGSTOP)
    try:
        yield
    finally:
        for each in processes:
            with suppress(ProcessLookupError):  # the test may have killed it meanwhile
                os.kill(each, signal.SIGCONT)


def _children(pid: int) -> list[int]:
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(stat.read_text().rpartition(")")[2].split()[1])
        except (FileNotFoundError, ProcessLookupError):
            continue
        if parent == pid:
            found.append(int(stat.parent.name))
    return found


def leader(stack: Stack) -> int:
    """The process that holds the lease, and goes on holding it."""

    def holder() -> int | None:
        with psycopg.connect(stack.database_url) as conn:
            row = conn.execute("SELECT holder FROM leases WHERE expires_at > now()").fetchone()
        return int(row[0].rsplit("-", 2)[1]) if row else None

    return until(holder, "somebody leads")


def is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def longest_gap(runs: list[dict[str, Any]]) -> float:
    """Seconds between one start and the next."""
    starts = sorted(datetime.fromisoformat(run["start_time"]) for run in runs if run["start_time"])
    return max((later - one).total_seconds() for one, later in pairwise(starts))


def seconds_until_it_runs(stack: Stack, **body: Any) -> float:
    """From now to the end of a job that is submitted now: how long recovery takes, for people."""
    began = time.monotonic()
    job, _ = insist(stack, body)
    until(lambda: succeeded(stack, job), f"{job} runs", 120)
    return time.monotonic() - began


def succeeded(stack: Stack, job: str) -> bool:
    """Its one run; False also while nobody can say."""
    answer = stack.ask("GET", f"/jobs/{job}/runs")
    states = [run["status"] for run in answer.body] if answer.status == HTTPStatus.OK else []
    assert not (FINAL - {"SUCCESS"}) & set(states), f"{job}: {states}"
    return states == ["SUCCESS"]


def fence_of(stack: Stack, job: str) -> int:
    """How often its one run was claimed."""
    with psycopg.connect(stack.database_url) as conn:
        [(fence,)] = conn.execute("SELECT fence FROM job_runs WHERE job_id = %s", [job]).fetchall()
    return int(fence)


def processes(stack: Stack) -> list[int]:
    """All of a stack's own, but for `up` itself."""
    stack.component("gateway")
    return [each["pid"] for each in stack.state["components"] + stack.state["services"]]
