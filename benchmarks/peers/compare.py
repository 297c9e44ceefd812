"""Peers: what a user would take instead, each in its best sensible configuration, beside ours."""

import sys
from collections.abc import Callable
from functools import partial

from benchmarks import picture
from benchmarks.peers import drive, environments, figures, ours
from benchmarks.peers.table import PEERS
from benchmarks.report import Row, draw, not_measured
from benchmarks.running import absent
from benchmarks.sizes import words


def measure() -> list[Row]:
    """What could not be measured is said, with the reason; the others go on."""
    every: list[figures.Figures] = []
    missing: list[Row] = []

    def tried(title: str, measured: Callable[[], figures.Figures]) -> None:
        try:
            every.append(measured())
        except Exception as problem:  # noqa: BLE001 - said in its row
            missing.append(not_measured(title, str(problem)))

    for bus in sorted(words("BENCH_BUSES")):
        tried(f"Lamplighter over {bus}", partial(_ours, bus))
    mine = every[0] if every else None  # over Kafka, where that is there
    for name in words("BENCH_PEERS"):
        tried(name, partial(_measured, name))
    _draw(every)
    return figures.rows(every, mine) + missing


def _ours(bus: str) -> figures.Figures:
    if reason := absent(bus):
        raise environments.NotHere(reason)
    _say(f"Lamplighter over {bus}")
    return ours.measured(bus)


def _measured(name: str) -> figures.Figures:
    if name not in PEERS:
        raise environments.NotHere(f"there is no such peer; there are {', '.join(PEERS)}")
    peer = PEERS[name]
    title = f"{peer.title} {environments.version(peer)}"
    _say(title)
    return drive.measured(peer, environments.command(peer), title)


def _say(title: str) -> None:
    print(f"measuring {title} …", file=sys.stderr, flush=True)


def _draw(every: list[figures.Figures]) -> None:
    herds = {
        each.title: {f"{herd.jobs:,}": herd.per_second for herd in each.herds.values()}
        for each in every
    }
    draw("peers", picture.bars("Herds, side by side", herds, "jobs/s"))
