"""How soon a run that somebody cancels has ended: on an idle stack, one at a time."""

import time
from datetime import datetime
from typing import Any

from benchmarks.running import Running

_SLEEP = {"type": "python", "handler": "builtin.sleep"}
_LOOK_SECONDS = 0.02
_PATIENCE_SECONDS = 30.0


def cancellations(stack: Running, count: int) -> list[float]:
    """Seconds from the answer to the cancel, to the end that the ledger has. Before it: 0."""
    seconds: list[float] = []
    for _ in range(count):
        job = {"name": "sleeper", "target": _SLEEP, "payload": {"seconds": 60}}
        made = stack.ask("POST", "/jobs", job)
        run = _become(stack, made["job_id"], "RUNNING")
        stack.ask("POST", f"/runs/{run['run_id']}/cancel")
        answered = time.time()
        ended = _become(stack, made["job_id"], "CANCELLED")["end_time"]
        seconds.append(max(0.0, datetime.fromisoformat(ended).timestamp() - answered))
    return seconds


def _become(stack: Running, job_id: str, status: str) -> dict[str, Any]:
    end = time.monotonic() + _PATIENCE_SECONDS
    while time.monotonic() < end:
        runs: list[dict[str, Any]] = stack.ask("GET", f"/jobs/{job_id}/runs")
        if runs and runs[0]["status"] == status:
            return runs[0]
        time.sleep(_LOOK_SECONDS)
    raise RuntimeError(f"job {job_id} has not become {status}")
