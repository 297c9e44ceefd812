"""What a command is told, and what it is not: nothing of the worker's own secrets."""

import os
import tempfile
from typing import IO, Any, Final

import msgspec

from lamplighter.domain.ids import fire_of
from lamplighter.domain.run import Claimed

# The only variables of the worker that a command sees.
INHERITED: Final = ("PATH", "HOME", "LANG", "TZ")
DEFAULT_PATH: Final = "/usr/local/bin:/usr/bin:/bin"
# The kernel has a limit for all variables together; the payload is on stdin, whatever its size.
LARGEST_PAYLOAD_VARIABLE: Final = 16 * 1024


def environment_of(run: Claimed) -> dict[str, str]:
    """Before the job's own `env`, which may replace the inherited ones."""
    inherited = {name: os.environ[name] for name in INHERITED if name in os.environ}
    told = {
        "LAMPLIGHTER_RUN_ID": str(run.run_id),
        "LAMPLIGHTER_JOB_ID": str(run.job_id),
        "LAMPLIGHTER_FENCE": str(run.fence),
        "LAMPLIGHTER_ATTEMPT": str(run.attempt),
        "LAMPLIGHTER_FIRE_AT": fire_of(run.run_id).isoformat(timespec="milliseconds"),
    }
    if run.traceparent is not None:
        told["TRACEPARENT"] = run.traceparent
    payload = encoded(run.payload)
    if payload and len(payload) <= LARGEST_PAYLOAD_VARIABLE:
        told["LAMPLIGHTER_PAYLOAD"] = payload.decode()
    return {"PATH": DEFAULT_PATH, **inherited, **told}


def encoded(payload: Any) -> bytes:
    return b"" if payload is None else msgspec.json.encode(payload)


def standard_input(payload: Any) -> IO[bytes]:
    """The payload as JSON; a file and not a pipe, so that a command need not read it."""
    file = tempfile.TemporaryFile()  # noqa: SIM115 - the caller closes it
    file.write(encoded(payload))
    file.seek(0)
    return file
