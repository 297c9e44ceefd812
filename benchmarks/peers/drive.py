"""One peer on servers of its own: its program is called, its workers are started and watched."""

import os
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from signal import SIGKILL
from typing import Final, NamedTuple

import psycopg
from valkey import Valkey as Store

from benchmarks.figures import percentile
from benchmarks.peers.environments import gist
from benchmarks.peers.figures import Figures, Herd, highest, worth_trying
from benchmarks.peers.protocol import BATCH, MARK, MARKS, URL
from benchmarks.peers.table import Peer
from benchmarks.running import until
from benchmarks.sizes import number, numbers
from infra.local.child import Child, Command
from infra.local.postgres import Postgres
from infra.local.valkey import Valkey

ROOT: Final = Path(__file__).resolve().parent.parent.parent
WARM_UP_SECONDS: Final = 60.0
# Between the last job that was enqueued and the first that is due. River looks for what is due
# every five seconds, five seconds ahead.
SETTLE_SECONDS: Final = 6.0
# What has not begun so long after the last instant has not held 2 s.
LATEST_SECONDS: Final = 4.0
HERD_SECONDS: Final = 180.0
CALL_SECONDS: Final = 300.0
_UNHURRIED: Final = 2.0


class Start(NamedTuple):
    """In seconds since 1970."""

    due: float
    at: float


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
        """What had begun so long after the last instant, if not all; else when all has ended."""
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
        self._pace = max(0.0, self._enqueue_now(jobs) - self._start) / jobs
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


class Bench:
    """Servers for one peer, as `lamplighter up` starts them; each trial gets an empty store."""

    def __init__(self, peer: Peer, command: Sequence[str], folder: Path, stack: ExitStack) -> None:
        self._peer, self._command, self._folder, self._trials = peer, command, folder, 0
        self._postgres = Postgres(folder / "postgres")
        self._valkey = Valkey(folder / "valkey")
        stack.enter_context(self._postgres if peer.store == "postgres" else self._valkey)

    def trial(self) -> Trial:
        self._trials += 1
        folder = self._folder / f"trial{self._trials}"
        folder.mkdir()
        return Trial(self._peer, self._command, self._empty(), folder)

    def _empty(self) -> str:
        if self._peer.store == "postgres":
            return self._postgres.ensure_database(f"trial{self._trials}")
        with Store.from_url(self._valkey.url) as store:
            store.flushall()
        # None of them knows the name of the fork; the protocol is the same.
        return self._valkey.url.replace("valkey:", "redis:")


def measured(peer: Peer, command: Sequence[str], title: str) -> Figures:
    with (
        tempfile.TemporaryDirectory(prefix="lamplighter-") as folder,
        ExitStack() as stack,
    ):
        bench = Bench(peer, command, Path(folder), stack)
        herds: dict[int, Herd] = {}
        for size in sorted(numbers("BENCH_PEER_HERD")):
            jobs = min(size, peer.most)
            if jobs not in {herd.jobs for herd in herds.values()}:
                herds[size] = _herd(bench.trial(), jobs)
        rates = worth_trying(numbers("BENCH_PEER_RATES"), max(h.per_second for h in herds.values()))
        return Figures(
            title=title,
            note=peer.note,
            herds=herds,
            steady=highest(rates, lambda rate: _p99(bench.trial(), rate)),
            one_by_one=_submitted(bench.trial(), 1),
            in_batches=_submitted(bench.trial(), BATCH) if peer.batches else None,
        )


def _herd(trial: Trial, jobs: int) -> Herd:
    with trial.workers():
        starts = trial.wave(jobs, 0, HERD_SECONDS)
        took = trial.ended(HERD_SECONDS) - starts[0].due
    late = percentile([start.at - start.due for start in starts], 0.99)
    return Herd(jobs, jobs / took, late)


def _p99(trial: Trial, rate: int) -> float:
    """Without end where not all of it has begun in time."""
    jobs = rate * number("BENCH_PEER_SECONDS")
    with trial.workers():
        starts = trial.wave(jobs, rate, LATEST_SECONDS)
    if len(starts) < jobs:
        return float("inf")
    return percentile([start.at - start.due for start in starts], 0.99)


def _submitted(trial: Trial, size: int) -> float:
    return float(trial.call("submit", number("BENCH_SUBMIT_SECONDS"), size).splitlines()[-1])
