"""What it costs to run a run. The floor calls the handler and does nothing else."""

import tempfile
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter
from typing import Any
from uuid import uuid4

from benchmarks.report import Row
from lamplighter.adapters.logs.folder import FolderLogs
from lamplighter.adapters.targets.python.builtin import noop
from lamplighter.adapters.targets.registry import Registry, all_targets
from lamplighter.adapters.targets.secrets import FolderSecrets
from lamplighter.domain.ids import run_id
from lamplighter.domain.run import Claimed, Outcome, Verdict
from lamplighter.stages.run import Limits, Runner

BATCH = 1000
ROUNDS = 20
COMMANDS = 100


def measure() -> list[Row]:
    """Microseconds per run, in the quietest of several rounds."""
    with tempfile.TemporaryDirectory(prefix="lamplighter-") as folder:
        runner = _runner(Path(folder))
        batch = _claims({"type": "python", "handler": "builtin.noop"}, BATCH)
        floor = _cost(lambda: [noop(run.payload, None) for run in batch], BATCH)  # type: ignore[arg-type]
        rows = [
            _row(f"run {handler}, in batches of {BATCH:,}", _batch_cost(runner, handler), floor)
            for handler in ("builtin.noop", "builtin.echo")
        ]
        rows.append(_row("run builtin.sleep 0, a thread each", _threads(runner), None))
        rows.append(_row(f"run a command, {COMMANDS} at once", _commands(runner), None))
        runner.close()
    return rows


def _runner(folder: Path) -> Runner:
    targets = Registry(all_targets())
    limits = Limits(places=COMMANDS)
    return Runner(targets, FolderLogs(folder / "logs"), FolderSecrets(folder / "secrets"), limits)


def _batch_cost(runner: Runner, handler: str) -> float:
    batch = _claims({"type": "python", "handler": handler}, BATCH)
    return _cost(lambda: _all(runner, batch), BATCH)


def _threads(runner: Runner) -> float:
    batch = _claims({"type": "python", "handler": "builtin.sleep"}, BATCH, payload=0)
    return _cost(lambda: _all(runner, batch), BATCH, rounds=3)


def _commands(runner: Runner) -> float:
    batch = _claims({"type": "command", "command": ":"}, COMMANDS)
    return _cost(lambda: _all(runner, batch), COMMANDS, rounds=3)


def _all(runner: Runner, batch: list[Claimed]) -> list[Outcome]:
    outcomes = [outcome for handful in runner.run_batch(batch) for outcome in handful]
    assert all(outcome.verdict is Verdict.SUCCESS for outcome in outcomes)
    return outcomes


def _claims(target: dict[str, Any], count: int, payload: Any = None) -> list[Claimed]:
    now = datetime.now(UTC)
    payload = {"order": 17, "lines": ["a", "b"]} if payload is None else payload
    return [
        Claimed(
            run_id(job, now, "default"), job, "default", "default",
            1, 1, now, "bench", 5, None, dict(target), payload,
        )
        for job in (uuid4() for _ in range(count))
    ]  # fmt: skip


def _cost(work: Callable[[], object], runs: int, rounds: int = ROUNDS) -> float:
    spent = []
    for _ in range(rounds + 1):
        started = perf_counter()
        work()
        spent.append((perf_counter() - started) / runs * 1e6)
    return min(spent[1:])


def _row(name: str, value: float, floor: float | None) -> Row:
    ratio = None if floor is None else round(value / floor, 2)
    row: Row = {"name": name, "unit": "µs", "value": round(value, 2)}
    return row | {"floor": None if floor is None else round(floor, 3), "ratio": ratio, "note": ""}
