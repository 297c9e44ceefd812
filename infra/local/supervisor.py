"""Starts parts together, starts again what dies, and stops everything in order."""

import subprocess
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from datetime import UTC, datetime
from typing import Final

from infra.local import lines
from infra.local.component import kind_of
from infra.local.errors import ServiceFailed, tail
from infra.local.lines import Say
from infra.local.logfiles import bound
from infra.local.part import Part

FIRST_WAIT: Final = 0.2
LONGEST_WAIT: Final = 10.0
# Whoever lived this long died of something new.
RESET_SECONDS: Final = 30.0
# Whoever did not live this long probably says why at the end of its log.
EARLY_SECONDS: Final = 5.0
LOG_CHECK_SECONDS: Final = 5.0

# Work stops coming in, then being handed out, then being done, then being written down.
STOP_ORDER: Final = (
    ("gateway",),
    ("watcher",),
    ("executor", "worker"),
    ("recorder",),
    ("resolver",),
    ("kafka",),
    ("valkey",),
    ("postgres",),
)

Started = Callable[[Part, float], None]


class Backoff:
    """How long to wait before the next start: longer each time, from the beginning after a life."""

    def __init__(self) -> None:
        self._next = FIRST_WAIT

    def after(self, lived: float) -> float:
        wait = FIRST_WAIT if lived >= RESET_SECONDS else self._next
        self._next = min(2 * wait, LONGEST_WAIT)
        return wait


class Keeper:
    """One part, and what has become of it so far."""

    def __init__(self, part: Part) -> None:
        self.part = part
        self.restarts = 0
        self.since = datetime.now(UTC)
        self.born = time.monotonic()
        self.backoff = Backoff()
        # When to start it again; only while it is down.
        self.due: float | None = None
        self.starting: Future[float] | None = None

    @property
    def pid(self) -> int | None:
        up = self.due is None and self.starting is None
        return self.part.pid if up and self.part.running() else None

    def is_up(self) -> None:
        self.due = None
        self.since = datetime.now(UTC)
        self.born = time.monotonic()


class Supervisor:
    """`changed` is called whenever a process id is another than before."""

    def __init__(self, *, say: Say, changed: Callable[[], None]) -> None:
        self._say = say
        self._changed = changed
        self._threads = ThreadPoolExecutor(32, thread_name_prefix="start")
        self._logs_checked = time.monotonic()
        self._stopping = False
        self.keepers: list[Keeper] = []

    def start(self, parts: Sequence[Part], started: Started) -> None:
        """Start them all at once. The first that fails ends the attempt, and is raised."""
        fresh = list(map(Keeper, parts))
        self.keepers += fresh
        starting = {self._threads.submit(self._start, each.part): each for each in fresh}
        for future in as_completed(starting):
            keeper, seconds = starting[future], future.result()
            keeper.is_up()
            started(keeper.part, seconds)

    def tick(self) -> None:
        """Look after everything once; returns soon, whatever has happened."""
        now = time.monotonic()
        for keeper in self.keepers:
            self._look_after(keeper, now)
        if now - self._logs_checked > LOG_CHECK_SECONDS:
            self._logs_checked = now
            for keeper in self.keepers:
                bound(keeper.part.log)

    def stop(self) -> None:
        """Stop what runs, a stage after the other, and return when all of it has ended."""
        self._stopping = True
        for keeper in self.keepers:
            keeper.part.interrupt()
        self._threads.shutdown(wait=True, cancel_futures=True)
        for kinds in STOP_ORDER:
            stage = [each.part for each in self.keepers if kind_of(each.part.name) in kinds]
            with ThreadPoolExecutor(max(1, len(stage))) as together:
                for part in together.map(_stopped, stage):
                    if part:
                        self._say(lines.stopped(part.name))

    def _start(self, part: Part) -> float:
        """Seconds until it was ready. What is left of its last life is put away first."""
        began = time.monotonic()
        part.stop()
        if self._stopping:
            raise ServiceFailed(f"{part.name} was stopped before it started")
        part.start()
        return time.monotonic() - began

    def _look_after(self, keeper: Keeper, now: float) -> None:
        if keeper.starting:
            if keeper.starting.done():
                self._settle(keeper, keeper.starting, now)
        elif keeper.due is not None:
            if now >= keeper.due:
                keeper.starting = self._threads.submit(self._start, keeper.part)
        elif not keeper.part.running():
            self._mourn(keeper, now)

    def _mourn(self, keeper: Keeper, now: float) -> None:
        part, lived = keeper.part, now - keeper.born
        wait = keeper.backoff.after(lived)
        self._say(lines.died(part.name, part.ending(), lived, wait))
        if lived < EARLY_SECONDS:
            self._say(f"  The end of {part.log}:\n{tail(part.log).rstrip()}")
        keeper.due = now + wait
        self._changed()

    def _settle(self, keeper: Keeper, start: "Future[float]", now: float) -> None:
        keeper.starting = None
        try:
            start.result()
        except (ServiceFailed, OSError, subprocess.SubprocessError) as problem:
            wait = keeper.backoff.after(0)
            self._say(lines.failed(keeper.part.name, str(problem), wait))
            keeper.due = now + wait
        else:
            keeper.restarts += 1
            keeper.is_up()
            self._say(lines.back(keeper.part.name, keeper.restarts, keeper.part.pid))
        self._changed()


def _stopped(part: Part) -> Part | None:
    was_running = part.running()
    part.stop()
    return part if was_running else None
