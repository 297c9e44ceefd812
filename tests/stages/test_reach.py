"""Reach: nobody waits long for a ledger that hangs, and few ask one that is away."""

import threading
from collections.abc import Iterator

import pytest

from lamplighter.domain.errors import IdempotencyConflict, LedgerUnavailable
from lamplighter.stages.reach import Reach


@pytest.fixture
def hanging() -> Iterator[threading.Event]:
    """Set when the test is over: whatever hangs on it goes home."""
    event = threading.Event()
    yield event
    event.set()


def _away() -> None:
    raise LedgerUnavailable("connection refused")


def test_a_call_that_hangs_is_given_up(hanging: threading.Event) -> None:
    reach = Reach(seconds=0.01)
    with pytest.raises(LedgerUnavailable, match=r"no answer within 0.01 s"):
        reach(hanging.wait)


def test_a_large_call_is_given_more_time() -> None:
    begun = threading.Event()
    reach = Reach(seconds=0.0)
    assert reach(lambda: begun.wait(0.05), more_seconds=20) is False


def test_answers_and_other_errors_come_through() -> None:
    def conflict() -> None:
        raise IdempotencyConflict("other body")

    reach = Reach()
    assert reach(lambda: 7) == 7
    with pytest.raises(IdempotencyConflict):
        reach(conflict)
    assert reach(lambda: 8) == 8, "a ledger that refuses is there"


def test_after_a_failure_nobody_asks_for_a_second(hanging: threading.Event) -> None:
    now = [0.0]
    reach = Reach(seconds=0.01, steady=lambda: now[0])
    for fail in (_away, hanging.wait):
        with pytest.raises(LedgerUnavailable):
            reach(fail)
        now[0] += 0.9
        with pytest.raises(LedgerUnavailable, match="not asked again"):
            reach(lambda: 7)
        now[0] += 0.2
        assert reach(lambda: 7) == 7
        assert reach(lambda: 8) == 8


def test_who_asks_a_ledger_that_was_away_does_not_wait_long(hanging: threading.Event) -> None:
    now = [0.0]
    reach = Reach(seconds=600, rest=0.02, steady=lambda: now[0])
    with pytest.raises(LedgerUnavailable):
        reach(_away)
    now[0] = 1.0
    with pytest.raises(LedgerUnavailable, match=r"no answer within 0.02 s"):
        reach(hanging.wait, more_seconds=600)


def test_then_one_asks_and_the_others_do_not_wait_for_it() -> None:
    now = [0.0]
    reach = Reach(seconds=20, rest=20, steady=lambda: now[0])
    asked, answer = threading.Event(), threading.Event()

    def slow() -> bool:
        asked.set()
        return answer.wait(20)

    with pytest.raises(LedgerUnavailable):
        reach(_away)
    now[0] = 21.0
    first = threading.Thread(target=reach, args=(slow,))
    first.start()
    assert asked.wait(20)
    with pytest.raises(LedgerUnavailable, match="not asked again"):
        reach(lambda: 7)
    answer.set()
    first.join(20)
    assert reach(lambda: 7) == 7
