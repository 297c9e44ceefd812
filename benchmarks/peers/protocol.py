"""What every peer's program understands, and what it writes down.

    prepare                      make tables and the like in an empty store
    enqueue FIRST RATE JOBS      jobs that are due from FIRST on, RATE a second; 0: all at FIRST
    submit SECONDS SIZE          jobs for tomorrow, one by one (SIZE 1) or in batches; prints jobs/s
    work                         run jobs until it is killed

`PEER_URL` names the store, `PEER_MARKS` the file into which each job that begins writes 16 bytes:
when it was due and when it began, as doubles, in seconds since 1970. Python programs use this
module; those in other languages do the same. It needs nothing but the standard library, since each
program runs in an environment of its own.
"""

import os
import struct
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Final

URL: Final = "PEER_URL"
MARKS: Final = "PEER_MARKS"
MARK: Final = struct.Struct("<dd")
BATCH: Final = 1_000
CONNECTIONS: Final = 32
DAY: Final = 86_400.0


class Program(ABC):
    def __init__(self) -> None:
        self.url = os.environ[URL]

    @abstractmethod
    def prepare(self) -> None: ...

    @abstractmethod
    def enqueue(self, times: Sequence[float]) -> None:
        """A job for each of these times, in the quickest way that there is."""

    @abstractmethod
    def submit(self, seconds: float, size: int) -> float:
        """How many jobs a second."""

    @abstractmethod
    def work(self) -> None: ...


def main(program: Program) -> None:
    command, *numbers = sys.argv[1:]
    match command:
        case "prepare":
            program.prepare()
        case "enqueue":
            first, rate, jobs = (float(number) for number in numbers)
            program.enqueue(due_times(first, rate, int(jobs)))
        case "submit":
            print(program.submit(float(numbers[0]), int(numbers[1])))
        case "work":
            program.work()
        case _:
            sys.exit(__doc__)


def due_times(first: float, rate: float, jobs: int) -> list[float]:
    return [first + n / rate if rate else first for n in range(jobs)]


def batches(times: Sequence[float]) -> list[Sequence[float]]:
    return [times[start : start + BATCH] for start in range(0, len(times), BATCH)]


def mark(due: float) -> None:
    """One call of the system. All processes append to the same file, and none waits for another."""
    os.write(_book(), MARK.pack(due, time.time()))


@cache
def _book() -> int:
    return os.open(Path(os.environ[MARKS]), os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)


async def crowd(submit: Callable[[], Awaitable[object]], seconds: float, size: int = 1) -> float:
    """Jobs a second: as many at a time as there are connections; batches one after the other."""
    import asyncio

    began = time.monotonic()

    async def one() -> int:
        calls = 0
        while time.monotonic() < began + seconds:
            await submit()
            calls += 1
        return calls

    calls = await asyncio.gather(*(one() for _ in range(CONNECTIONS if size == 1 else 1)))
    return size * sum(calls) / (time.monotonic() - began)


def threads(submit: Callable[[], object], seconds: float, at_once: int) -> float:
    """The same for what blocks."""
    began = time.monotonic()

    def one() -> int:
        calls = 0
        while time.monotonic() < began + seconds:
            submit()
            calls += 1
        return calls

    with ThreadPoolExecutor(at_once) as pool:
        calls = [pool.submit(one) for _ in range(at_once)]
        return sum(each.result() for each in calls) / (time.monotonic() - began)
