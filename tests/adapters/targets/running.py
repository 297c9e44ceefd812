"""A runner over real targets, and claims to give it."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

from lamplighter.adapters.logs.folder import FolderLogs
from lamplighter.adapters.targets.python.handlers import Handlers
from lamplighter.adapters.targets.registry import Registry, all_targets
from lamplighter.domain.ids import run_id
from lamplighter.domain.run import Claimed, Outcome
from lamplighter.ports.target import Secrets, SecretUnavailable, Sender
from lamplighter.stages.run import Limits, Runner

FIRE = datetime(2026, 11, 16, 6, 30, tzinfo=UTC)


class KnownSecrets:
    """Secrets that a test made up."""

    def __init__(self, **values: str) -> None:
        self._values = values

    def resolve(self, tenant: str, name: str) -> str:  # noqa: ARG002
        if name not in self._values:
            raise SecretUnavailable(f"no secret {name!r}", retryable=False)
        return self._values[name]


def claim(target: Mapping[str, Any] | None, payload: Any = None, **changed: Any) -> Claimed:
    job = uuid4()
    fields: dict[str, Any] = {
        "run_id": run_id(job, FIRE, "default"), "job_id": job, "tenant": "default",
        "pool": "default", "fence": 7, "attempt": 1, "due_at": FIRE, "name": "a job",
        "priority": 5, "timeout_seconds": None, "payload": payload,
        "target": None if target is None else dict(target),
    }  # fmt: skip
    return Claimed(**(fields | changed))


def command(line: str, payload: Any = None, **options: Any) -> Claimed:
    """Options of the target, but for those of the claim."""
    changed = {name: options.pop(name) for name in ("timeout_seconds",) if name in options}
    return claim({"type": "command", "command": line, **options}, payload, **changed)


def python(handler: str, payload: Any = None, **changed: Any) -> Claimed:
    return claim({"type": "python", "handler": handler}, payload, **changed)


def a_runner(
    folder: Path,
    *,
    secrets: Secrets | None = None,
    sender: Sender | None = None,
    allowed: Sequence[str] = (),
    **limits: Any,
) -> Runner:
    targets = all_targets(handlers=Handlers(allowed), sender=sender)
    return Runner(
        Registry(targets, default={"type": "python", "handler": "builtin.echo"}),
        FolderLogs(folder / "logs"),
        secrets or KnownSecrets(),
        Limits(**limits),
    )


def run_all(runner: Runner, *batch: Claimed) -> list[Outcome]:
    """Every outcome, in the order of the batch."""
    outcomes = [outcome for handful in runner.run_batch(batch) for outcome in handful]
    by_id = {outcome.run_id: outcome for outcome in outcomes}
    assert len(by_id) == len(outcomes) == len(batch)
    return [by_id[run.run_id] for run in batch]


def run_one(runner: Runner, run: Claimed) -> Outcome:
    return run_all(runner, run)[0]
