"""One peer on servers of its own, trial by trial, each with an empty store."""

import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Final

from valkey import Valkey as Store

from benchmarks.figures import percentile
from benchmarks.peers.figures import Figures, Herd, highest, worth_trying
from benchmarks.peers.protocol import BATCH
from benchmarks.peers.table import Peer
from benchmarks.peers.trial import Trial
from benchmarks.sizes import number, numbers
from infra.local.postgres import Postgres
from infra.local.valkey import Valkey

# What has not begun so long after the last instant has not held 2 s.
LATEST_SECONDS: Final = 4.0
HERD_SECONDS: Final = 180.0


class Bench:
    """The server that a peer needs, as `lamplighter up` starts it."""

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
        if len(starts) < jobs:
            raise RuntimeError(f"{len(starts):,} of {jobs:,} had begun after {HERD_SECONDS:g} s")
        took = trial.ended(HERD_SECONDS) - starts[0].due
    return Herd(jobs, jobs / took, percentile([start.lateness for start in starts], 0.99))


def _p99(trial: Trial, rate: int) -> float:
    """Without end where not all of it has begun in time."""
    jobs = rate * number("BENCH_PEER_SECONDS")
    with trial.workers():
        starts = trial.wave(jobs, rate, LATEST_SECONDS)
    if len(starts) < jobs:
        return float("inf")
    return percentile([start.lateness for start in starts], 0.99)


def _submitted(trial: Trial, size: int) -> float:
    return float(trial.call("submit", number("BENCH_SUBMIT_SECONDS"), size).splitlines()[-1])
