"""Peers: what a user would take instead, each in its best sensible configuration, beside ours."""

import sys

from benchmarks.peers import drive, environments, figures, ours
from benchmarks.peers.table import PEERS
from benchmarks.report import Row, not_measured
from benchmarks.running import absent
from benchmarks.sizes import words


def measure() -> list[Row]:
    """What is not measured is said, with the reason; everything stands beside ours over Kafka."""
    every: list[figures.Figures] = []
    missing: list[Row] = []
    for bus in sorted(words("BENCH_BUSES")):
        if reason := absent(bus):
            missing.append(not_measured(f"Lamplighter over {bus}", reason))
        else:
            every.append(ours.measured(bus))
    mine = every[0] if every else None
    for name in words("BENCH_PEERS"):
        try:
            every.append(_measured(name))
        except Exception as problem:  # noqa: BLE001 - said in its row, and the next one goes on
            missing.append(not_measured(name, str(problem)))
    return figures.rows(every, mine) + missing


def _measured(name: str) -> figures.Figures:
    if name not in PEERS:
        raise environments.NotHere(f"there is no such peer; there are {', '.join(PEERS)}")
    peer = PEERS[name]
    title = f"{peer.title} {environments.version(peer)}"
    print(f"measuring {title} …", file=sys.stderr, flush=True)
    return drive.measured(peer, environments.command(peer), title)
