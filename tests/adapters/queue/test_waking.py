"""Sleep: over at its time, or when a run comes before all the others."""

import threading
import time

import pytest

from lamplighter.ports.queue import Queue
from tests.adapters.queue.builders import POOL, at, run
from tests.adapters.queue.stores import in_a_cluster_too


@pytest.fixture
def asleep(queue: Queue) -> Queue:
    """A queue whose leader listens already: the first sleep may end at once."""
    queue.sleep(0.5)
    while queue.sleep(0):
        pass
    return queue


@in_a_cluster_too
def test_a_sleep_ends_by_itself_in_time(asleep: Queue) -> None:
    started = time.monotonic()
    assert asleep.sleep(0.05) is False
    assert 0.049 <= time.monotonic() - started < 1.0


@in_a_cluster_too
def test_a_call_ends_a_sleep(asleep: Queue) -> None:
    caller = threading.Timer(0.02, asleep.wake)
    caller.start()
    assert asleep.sleep(10) is True
    caller.join()


def test_a_call_before_the_sleep_is_not_lost_and_many_are_one(asleep: Queue) -> None:
    for _ in range(5):
        asleep.wake()
    assert asleep.sleep(10) is True
    assert asleep.sleep(0) is False


@in_a_cluster_too
def test_a_run_that_comes_first_wakes_the_leader(asleep: Queue) -> None:
    asleep.add([run(60)])
    assert asleep.sleep(10) is True
    asleep.add([run(30, tenant="sooner")])
    assert asleep.sleep(10) is True
    asleep.add([run(10)])
    assert asleep.sleep(10) is True


def test_a_run_that_comes_later_lets_it_sleep(asleep: Queue) -> None:
    asleep.add([run(30)])
    asleep.sleep(10)
    asleep.add([run(31), run(40, tenant="other")])
    assert asleep.sleep(0.02) is False


def test_a_run_behind_others_in_line_lets_it_sleep(asleep: Queue) -> None:
    asleep.add([run(0)])
    asleep.tick(1, at(0), {POOL: 0}, 1)
    asleep.sleep(10)
    asleep.add([run(0)])
    assert asleep.sleep(0.02) is False


def test_no_time_is_no_sleep(asleep: Queue) -> None:
    assert asleep.sleep(-1) is False
