"""What becomes of a run whose attempt failed, and of one whose worker fell silent."""

import math
from datetime import datetime, timedelta

import msgspec

from lamplighter.domain.errors import InvalidJob
from lamplighter.domain.policy import Backoff, OnAmbiguous
from lamplighter.domain.states import RunState

TIMED_OUT = "timed_out"
WORKER_LOST = "worker_lost"

MAX_LOSSES = 5
HELD_BOUND = timedelta(days=7)

# Jitter may come out at almost nothing; a retry in the very instant of its failure would find
# the target as it was.
SHORTEST_DELAY_SECONDS = 0.001
LONGEST_CAP_SECONDS = HELD_BOUND.total_seconds()


class AttemptError(msgspec.Struct, frozen=True, omit_defaults=True):
    """Why one attempt failed. `kind` is a short stable word, `message` is for people."""

    kind: str
    message: str = ""
    retryable: bool = True


class RetryAt(msgspec.Struct, frozen=True):
    """The run is RETRYING; its next attempt may start at this instant."""

    at: datetime


class Final(msgspec.Struct, frozen=True):
    """The run has ended: no attempt is left, or none would help."""

    state: RunState


class Requeue(msgspec.Struct, frozen=True):
    """The run goes back to the queue with the next fence; no attempt is spent."""


class Hold(msgspec.Struct, frozen=True):
    """The run is HELD until a person decides, or `HELD_BOUND` has passed."""


class Fail(msgspec.Struct, frozen=True):
    """The run ends FAILED with this error kind."""

    kind: str


def check_backoff(backoff: Backoff) -> None:
    """Refuse what would shrink, stand still at zero, or wait for longer than anybody watches."""
    base, factor, cap = backoff.base_seconds, backoff.factor, backoff.cap_seconds
    if not SHORTEST_DELAY_SECONDS <= base <= LONGEST_CAP_SECONDS:
        raise InvalidJob("backoff.base_seconds", "give seconds from 0.001 to 604800 (7 days)")
    if not 1 <= factor < math.inf:
        raise InvalidJob("backoff.factor", "give 1 for a steady delay, more for a growing one")
    if not base <= cap <= LONGEST_CAP_SECONDS:
        raise InvalidJob("backoff.cap_seconds", "give seconds from base_seconds to 604800 (7 days)")


def retry_delay(attempt: int, backoff: Backoff, draw: float) -> timedelta:
    """How long to wait after the `attempt`-th attempt (from 1) failed.

    Without jitter: base, base × factor, base × factor² …, never past the cap. With jitter (full):
    that delay × (1 - draw), for a uniform `draw` in [0, 1), so anywhere in (0, delay].
    Never under 1 ms.
    """
    seconds = _grown(attempt, backoff)
    if backoff.jitter:
        seconds *= 1 - draw
    return timedelta(seconds=max(SHORTEST_DELAY_SECONDS, seconds))


def _grown(attempt: int, backoff: Backoff) -> float:
    try:
        grown = backoff.base_seconds * backoff.factor ** (attempt - 1)
    except OverflowError:  # 2.0 ** 1024 is past what a float holds, and so past any cap
        return backoff.cap_seconds
    return min(grown, backoff.cap_seconds)


def after_failure(  # noqa: PLR0913 - the facts of one failure, each by its name
    *,
    attempt_number: int,
    max_retries: int,
    error: AttemptError,
    backoff: Backoff,
    failed_at: datetime,
    draw: float,
) -> RetryAt | Final:
    """Try again, or end: a run has 1 + max_retries attempts, and a time-out is one of them."""
    if error.retryable and attempt_number <= max_retries:
        return RetryAt(failed_at + retry_delay(attempt_number, backoff, draw))
    return Final(RunState.TIMED_OUT if error.kind == TIMED_OUT else RunState.FAILED)


def after_loss(*, losses: int, on_ambiguous: OnAmbiguous) -> Requeue | Hold | Fail:
    """What the sweeper does when a run has lost its worker for the `losses`-th time.

    The limit comes before `on_ambiguous`: a run that took five workers with it is not asked
    about, nor sent to a sixth.
    """
    if losses >= MAX_LOSSES:
        return Fail(WORKER_LOST)
    return Hold() if on_ambiguous is OnAmbiguous.HOLD else Requeue()
