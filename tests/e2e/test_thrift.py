"""A thrifty stack: at rest nobody is connected to the database, and nothing is lost by that."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from tests.e2e.stack import FAIL, Stack, soon, until

pytestmark = pytest.mark.xdist_group("thrift")

Outside = psycopg.Connection[tuple[Any, ...]]
ECHO = {"type": "python", "handler": "builtin.echo"}


@pytest.fixture
def stack() -> Iterator[Stack]:
    with (
        tempfile.TemporaryDirectory(prefix="lamplighter-") as folder,
        Stack(Path(folder) / "data", environment={"LAMPLIGHTER_THRIFTY": "true"}) as running,
    ):
        yield running


@contextmanager
def beside(stack: Stack) -> Iterator[Outside]:
    """Connected to another database of the same server."""
    address = make_conninfo(stack.database_url, dbname="postgres")
    with psycopg.connect(address, autocommit=True) as conn:
        yield conn


def at_rest(outside: Outside) -> int:
    """The number of sessions that there ever were, once there is none."""

    def look() -> int | None:
        asked = (
            "SELECT sum(sessions), (SELECT count(*) FROM pg_stat_activity WHERE "
            "backend_type = 'client backend' AND datname != 'postgres') "
            "FROM pg_stat_database WHERE datname != 'postgres'"
        )
        [[sessions, open_now]] = outside.execute(asked).fetchall()
        return int(sessions) if open_now == 0 else None

    return until(look, "nobody is connected")


def later_on(outside: Outside, seconds: float) -> int:
    outside.execute("SELECT pg_sleep(%s)", [seconds])
    return at_rest(outside)


def test_a_thrifty_stack_sleeps_wakes_and_keeps_its_promises(stack: Stack) -> None:
    with beside(stack) as outside:
        # Watchers come once a second here, and presence beats every five.
        until(lambda: at_rest(outside) == later_on(outside, 5.5), "nobody connects while all rest")

        now = stack.submit(target=ECHO)
        later = stack.submit(target=ECHO, schedule_type="FUTURE", schedule_time=soon(3))
        after = stack.submit(target=ECHO, after=[now])
        retried = stack.submit(target=FAIL, max_retries=1, payload={"message": "no"})
        for job in (now, later, after):
            stack.in_state(job, "SUCCESS")
        stack.in_state(retried, "FAILED")
        at_rest(outside)

        old = stack.kill("valkey")
        found = stack.submit(target=ECHO, schedule_type="FUTURE", schedule_time=soon(3))
        stack.replaced("valkey", old)
        stack.in_state(found, "SUCCESS")
        at_rest(outside)
    stack.verify()
