"""Backoff, the end of a run that keeps failing, and runs whose worker fell silent."""

import math
from datetime import UTC, datetime, timedelta
from typing import assert_never

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lamplighter.domain.errors import InvalidJob
from lamplighter.domain.policy import Backoff, OnAmbiguous
from lamplighter.domain.retry import (
    MAX_LOSSES,
    TIMED_OUT,
    AttemptError,
    Fail,
    Final,
    Hold,
    Requeue,
    RetryAt,
    after_failure,
    after_loss,
    check_backoff,
    retry_delay,
)
from lamplighter.domain.states import RunState, may_become

NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)
STEADY = Backoff(jitter=False)
FLAKY = AttemptError(kind="http_503", message="Service Unavailable")
HOPELESS = AttemptError(kind="http_404", message="Not Found", retryable=False)
SLOW = AttemptError(kind=TIMED_OUT, message="ran for 60 s")

attempts = st.integers(1, 10_000)
draws = st.floats(0, 1, exclude_max=True)


@st.composite
def backoffs(draw: st.DrawFn) -> Backoff:
    base = draw(st.floats(0.001, 604_800))
    cap = draw(st.floats(base, 604_800))
    return Backoff(base, draw(st.floats(1, 1e300)), cap, draw(st.booleans()))


def outcome(
    error: AttemptError, *, attempt: int, max_retries: int, backoff: Backoff = STEADY
) -> RetryAt | Final:
    return after_failure(
        attempt_number=attempt,
        max_retries=max_retries,
        error=error,
        backoff=backoff,
        failed_at=NOON,
        draw=0.25,
    )


def test_delays_double_from_one_second() -> None:
    delays = [retry_delay(attempt, STEADY, 0.9).total_seconds() for attempt in range(1, 8)]
    assert delays == [1, 2, 4, 8, 16, 32, 64]


def test_delays_stop_growing_at_the_cap() -> None:
    assert retry_delay(12, STEADY, 0) == timedelta(seconds=2048)
    assert retry_delay(13, STEADY, 0) == timedelta(hours=1)
    assert retry_delay(10_000, STEADY, 0) == timedelta(hours=1)


def test_a_factor_of_one_is_a_steady_delay() -> None:
    assert retry_delay(10_000, Backoff(5, 1, 60, jitter=False), 0) == timedelta(seconds=5)


@pytest.mark.parametrize(
    ("draw", "seconds"), [(0.0, 8), (0.25, 6), (0.5, 4), (0.75, 2), (1 - 2**-53, 0.001)]
)
def test_full_jitter_takes_a_share_of_the_delay(draw: float, seconds: float) -> None:
    assert retry_delay(4, Backoff(), draw) == timedelta(seconds=seconds)


def test_full_jitter_is_spread_evenly() -> None:
    delays = [retry_delay(1, Backoff(), step / 1000).total_seconds() for step in range(1000)]
    assert math.isclose(sum(delays) / 1000, 0.5, abs_tol=0.001)
    assert sum(delay <= 0.1 for delay in delays) == 100


@given(attempts, backoffs(), draws)
@example(10_000, Backoff(), 0.0)
@example(10_000, Backoff(0.001, 1e300, 604_800), 1 - 2**-53)
def test_a_delay_is_never_nothing_and_never_past_the_cap(
    attempt: int, backoff: Backoff, draw: float
) -> None:
    check_backoff(backoff)
    delay = retry_delay(attempt, backoff, draw)
    assert timedelta(milliseconds=1) <= delay
    assert delay <= timedelta(seconds=backoff.cap_seconds)


@given(attempts, backoffs(), draws)
def test_a_later_attempt_never_waits_for_less(attempt: int, backoff: Backoff, draw: float) -> None:
    assert retry_delay(attempt, backoff, draw) <= retry_delay(attempt + 1, backoff, draw)


@pytest.mark.parametrize(
    ("backoff", "field"),
    [
        (Backoff(base_seconds=0), "base_seconds"),
        (Backoff(base_seconds=math.nan), "base_seconds"),
        (Backoff(base_seconds=1e6, cap_seconds=1e6), "base_seconds"),
        (Backoff(factor=0.5), "factor"),
        (Backoff(factor=math.inf), "factor"),
        (Backoff(factor=math.nan), "factor"),
        (Backoff(base_seconds=10, cap_seconds=5), "cap_seconds"),
        (Backoff(cap_seconds=math.inf), "cap_seconds"),
        (Backoff(cap_seconds=604_801), "cap_seconds"),
    ],
)
def test_a_backoff_that_makes_no_sense_is_refused_by_field(backoff: Backoff, field: str) -> None:
    with pytest.raises(InvalidJob) as refused:
        check_backoff(backoff)
    assert refused.value.field == f"backoff.{field}"


@pytest.mark.parametrize("base", [0.001, 604_800])
def test_a_backoff_may_stand_still_at_either_limit(base: float) -> None:
    check_backoff(Backoff(base_seconds=base, factor=1, cap_seconds=base))


def test_a_failure_is_tried_again_after_its_delay() -> None:
    assert outcome(FLAKY, attempt=3, max_retries=3) == RetryAt(NOON + timedelta(seconds=4))


def test_jitter_is_drawn_for_the_retry() -> None:
    jittered = outcome(FLAKY, attempt=3, max_retries=3, backoff=Backoff())
    assert jittered == RetryAt(NOON + timedelta(seconds=3))


@pytest.mark.parametrize("max_retries", [0, 1, 3])
def test_a_run_has_one_attempt_more_than_retries(max_retries: int) -> None:
    outcomes = [outcome(FLAKY, attempt=n, max_retries=max_retries) for n in range(1, 6)]
    retried = [isinstance(each, RetryAt) for each in outcomes]
    assert retried == [n <= max_retries for n in range(1, 6)]
    assert outcomes[-1] == Final(RunState.FAILED)


def test_an_error_that_no_retry_helps_ends_the_run_at_once() -> None:
    assert outcome(HOPELESS, attempt=1, max_retries=10) == Final(RunState.FAILED)


def test_a_time_out_is_an_attempt_and_the_last_one_ends_as_timed_out() -> None:
    assert outcome(SLOW, attempt=1, max_retries=1) == RetryAt(NOON + timedelta(seconds=1))
    assert outcome(SLOW, attempt=2, max_retries=1) == Final(RunState.TIMED_OUT)


def test_the_last_error_names_the_end() -> None:
    assert outcome(FLAKY, attempt=2, max_retries=1) == Final(RunState.FAILED)


def test_a_time_out_that_must_not_be_retried_ends_as_timed_out() -> None:
    once = AttemptError(kind=TIMED_OUT, retryable=False)
    assert outcome(once, attempt=1, max_retries=5) == Final(RunState.TIMED_OUT)


@pytest.mark.parametrize("losses", range(1, MAX_LOSSES))
def test_a_lost_worker_costs_no_attempt(losses: int) -> None:
    assert after_loss(losses=losses, on_ambiguous=OnAmbiguous.RETRY) == Requeue()


@pytest.mark.parametrize("losses", range(1, MAX_LOSSES))
def test_a_run_is_held_where_the_job_says_so(losses: int) -> None:
    assert after_loss(losses=losses, on_ambiguous=OnAmbiguous.HOLD) == Hold()


@pytest.mark.parametrize("on_ambiguous", OnAmbiguous)
@pytest.mark.parametrize("losses", [5, 6, 100])
def test_the_fifth_lost_worker_ends_the_run(losses: int, on_ambiguous: OnAmbiguous) -> None:
    assert after_loss(losses=losses, on_ambiguous=on_ambiguous) == Fail("worker_lost")


@pytest.mark.parametrize("error", [FLAKY, HOPELESS, SLOW])
@pytest.mark.parametrize("attempt", [1, 2])
def test_whatever_follows_a_failure_is_an_edge_from_running(
    error: AttemptError, attempt: int
) -> None:
    match outcome(error, attempt=attempt, max_retries=1):
        case RetryAt():
            state = RunState.RETRYING
        case Final(state):
            assert state.is_final
        case other:
            assert_never(other)
    assert may_become(RunState.RUNNING, state)
