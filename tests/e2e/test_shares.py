"""Who starts first where there is one place: shares of classes, and age.

On Streams alone: who is next is decided before the bus. Over a stack of its own, whose workers run
one thing at a time, and on whose bus one run lies ahead of that.
"""

import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pytest

from tests.e2e.stack import SLEEP, Stack, soon

pytestmark = pytest.mark.xdist_group("shares")

ONE_PLACE: Final = {"LAMPLIGHTER_PLACES": "1", "LAMPLIGHTER_POOLS": "default=1,tasks=1"}
NOOP: Final = {"type": "python", "handler": "builtin.noop"}
PRIORITY_OF: Final = {"P1": 1, "P2": 4, "P3": 7, "P4": 10}
# Of 18 starts, while each of them has something to run: 100, 50, 20 and 10 parts.
SHARES: Final = {"P1": 10, "P2": 5, "P3": 2, "P4": 1}


@pytest.fixture(scope="module")
def stack() -> Iterator[Stack]:
    with (
        tempfile.TemporaryDirectory(prefix="lamplighter-") as folder,
        Stack(Path(folder) / "data", environment=ONE_PLACE) as running,
    ):
        yield running
        running.verify()


@contextmanager
def _taken(stack: Stack) -> Iterator[None]:
    """The one place, by a run that ends with this."""
    holder = stack.submit(target=SLEEP, payload=600)
    stack.in_state(holder, "RUNNING")
    yield
    stack.cancel(holder)


def test_classes_start_by_their_shares_and_the_last_is_not_starved(stack: Stack) -> None:
    with _taken(stack):
        jobs = {
            _submitted(stack, priority=PRIORITY_OF[name]): name
            for name, share in SHARES.items()
            for _ in range(share + 2)
        }

    order = [jobs[job] for job in _in_order(stack, list(jobs))]

    # The one that lay on the bus already was nobody's choice.
    started = Counter(order[:18])
    assert {name for name in SHARES if abs(started[name] - SHARES[name]) > 1} == set()
    assert order[-4:] != ["P4"] * 4


def test_a_run_that_has_waited_for_long_overtakes_a_more_urgent_one(stack: Stack) -> None:
    """Of one class; a fire of two hours ago is worth more than a level of priority."""
    with _taken(stack):
        urgent = [_submitted(stack, priority=1) for _ in range(4)]
        daily = {"schedule_type": "CRON", "cron_expression": "0 * * * *", "overlap": "allow"}
        old = _submitted(stack, **daily, priority=2)
        asked = {"start": soon(-3 * 3600), "end": soon(-2 * 3600)}
        assert stack.ask("POST", f"/jobs/{old}/backfill", asked).status == 202

    order = _in_order(stack, [*urgent, old])

    assert old in order[:2]
    assert sorted(order[2:]) == order[2:]
    stack.cancel(old)


def _submitted(stack: Stack, **body: Any) -> str:
    return stack.submit(target=NOOP, **body)


def _in_order(stack: Stack, jobs: list[str]) -> list[str]:
    """Of their starts, once all have ended."""
    runs = [stack.in_state(job, "SUCCESS")[0] for job in jobs]
    return [run["job_id"] for run in sorted(runs, key=lambda run: str(run["start_time"]))]
