"""One measure of a peer: its program is called, its workers are started and watched."""

import os
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from signal import SIGKILL
from typing import Final, NamedTuple

import psycopg
from valkey import Valkey as Store

from benchmarks.peers.environments import gist
from benchmarks.peers.protocol import MARK, MARKS, URL
from benchmarks.peers.table import Peer
from benchmarks.running import until
from benchmarks.sizes import number
from infra.local.child import Child, Command

ROOT: Final = Path(__file__).resolve().parent.parent.parent
WARM_UP_SECONDS: Final = 60.0
# Between the last job that was enqueued and the first that is due. River looks for what is due
# every five seconds, five seconds ahead.
SETTLE_SECONDS: Final = 6.0
CALL_SECONDS: Final = 300.0
_UNHURRIED: Final = 2.0


class Start(NamedTuple):
    """In seconds since 1970."""

    due: float
    at: float

    @property
    def lateness(self) -> float:
        return self.at - self.due


class Trial:
    """A peer with an empty store, and with workers that have warmed up."""

    def __init__(self, peer: Peer, command: Sequence[str], url: str, folder: Path) -> None:
        self._peer, self._command, self._url = peer, command, url
        self._marks, self._log = folder / "marks", folder / "log"
        self._marks.touch()
        self._log.touch()
        self._told = {**os.environ, URL: url, MARKS: str(self._marks), "PYTHONPATH": str(ROOT)}
        self._start, self._pace = 0.0, 0.0
        self._warmed = 0
        self.call("prepare")

    def call(self, *arguments: object) -> str:
        """What its program prints."""
        ran = subprocess.run(
            [*self._command, *map(str, arguments)],
            env=self._told, cwd=ROOT, capture_output=True, text=True, check=False,
            timeout=CALL_SECONDS,
        )  # fmt: skip
        if ran.returncode:
            raise RuntimeError(f"{arguments[0]} failed: {gist(ran.stderr)}")
        return ran.stdout.strip()

    @contextmanager
    def workers(self) -> Iterator[None]:
        """Until the block ends, or this process does."""
        with self._log.open("rb") as held:
            lock = held.fileno()
            # What they would do in an orderly stop is not measured, and takes seconds.
            command = Command([*self._command, "work"], self._told, stop_signal=SIGKILL)
            crew = [Child(command, log=self._log, lock=lock) for _ in range(self._peer.workers)]
            try:
                self._crew = crew
                self._warm_up()
                yield
            finally:
                for each in crew:
                    each.stop()

    def wave(self, jobs: int, rate: int, patience: float) -> list[Start]:
        """Those that had begun when all had, or so long after the last instant."""
        ahead = _UNHURRIED * (self._start + self._pace * jobs) + SETTLE_SECONDS
        first = float(int(time.time() + ahead) + 1)
        self.call("enqueue", first, rate, jobs)
        if time.time() >= first:
            raise RuntimeError("enqueuing took longer than expected: is the machine busy?")
        last = first + (jobs - 1) / rate if rate else first
        while self._count() < self._warmed + jobs and time.time() < last + patience:
            self._look()
        return [start for start in self._starts() if start.due >= first]

    def ended(self, patience: float) -> float:
        """When nothing was left, in seconds since 1970."""
        until(lambda: self._left() == 0, "all jobs have ended", patience, look=0.02)
        return time.time()

    def _warm_up(self) -> None:
        """Finds, too, how long its program takes to start and then to enqueue a job."""
        jobs = max(1, min(number("BENCH_WARM_UP"), self._peer.most // 5))
        self._start = self._enqueue_now(1)
        took = self._enqueue_now(jobs)
        # A start that was slow by chance must not make the jobs look free.
        self._pace = max(took - self._start, took / 2) / jobs
        self._warmed = 1 + jobs
        end = time.time() + WARM_UP_SECONDS
        while self._count() < self._warmed:
            self._look()
            if time.time() > end:
                raise RuntimeError(f"it does not work: {gist(self._log.read_text())}")
        self.ended(WARM_UP_SECONDS)

    def _enqueue_now(self, jobs: int) -> float:
        """How long it took."""
        began = time.time()
        self.call("enqueue", began, 0, jobs)
        return time.time() - began

    def _look(self) -> None:
        if not all(each.running() for each in self._crew):
            raise RuntimeError(f"a worker has ended: {gist(self._log.read_text())}")
        time.sleep(0.02)

    def _count(self) -> int:
        return self._marks.stat().st_size // MARK.size

    def _starts(self) -> list[Start]:
        found = self._marks.read_bytes()
        return [Start(*each) for each in MARK.iter_unpack(found[: MARK.size * self._count()])]

    def _left(self) -> int:
        if self._peer.store == "postgres":
            with psycopg.connect(self._url, autocommit=True) as conn:
                return int((conn.execute(self._peer.left).fetchone() or [0])[0])
        with Store.from_url(self._url.replace("redis:", "valkey:")) as store:
            asked = self._peer.left.split(", ")
            return sum(int(store.execute_command(*each.split())) for each in asked)
