"""How long a run may take, and how much of what it says is kept."""

from functools import lru_cache
from typing import Final

import msgspec

from lamplighter.domain.policy import JobClass
from lamplighter.domain.run import Claimed

KIB: Final = 1024
MIB: Final = 1024 * KIB

CLASS_SECONDS: Final = {
    JobClass.P1: 60,
    JobClass.P2: 300,
    JobClass.P3: 1_800,
    JobClass.P4: 3_600,
}


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """What one worker allows. `longest_seconds` is its pool's limit."""

    places: int = 32  # runs at the same time
    longest_seconds: float = 3_600
    kept_bytes: int = 16 * KIB  # of stdout, of stderr and of the result, each
    error_characters: int = 4 * KIB
    log_bytes: int = 256 * MIB  # a program that prints for ever must not fill the store
    # Threads that did not stop when told to. With so many of them the process is past saving.
    most_abandoned: int = 16


class Timeout(msgspec.Struct, frozen=True):
    """How long, and on whose word: a person who meets it must know what to change."""

    seconds: float
    source: str


def timeout_of(run: Claimed, limits: Limits) -> Timeout:
    """The job's own timeout, else its class's limit; never more than the pool's."""
    return _timeout(run.timeout_seconds, run.priority, run.pool, limits.longest_seconds)


@lru_cache(maxsize=4096)
def _timeout(own: float | None, priority: int, pool: str, longest: float) -> Timeout:
    if own is not None:
        wanted = Timeout(own, "its timeout_seconds")
    else:
        job_class = JobClass.of(priority)
        wanted = Timeout(CLASS_SECONDS[job_class], f"the limit of class {job_class.name}")
    return wanted if wanted.seconds <= longest else Timeout(longest, f"the limit of pool {pool}")
