"""Handlers that every worker has, for demonstrations, tests and measuring."""

from datetime import UTC, datetime
from typing import Any

from lamplighter.adapters.targets.python.handlers import handler
from lamplighter.domain.canary import CANARY_HANDLER
from lamplighter.domain.ids import fire_of
from lamplighter.ports.target import Context, TargetFailed


@handler("builtin.noop", quick=True)
def noop(_payload: Any, _context: Context) -> None:
    return None


@handler("builtin.echo", quick=True)
def echo(payload: Any, _context: Context) -> Any:
    return payload


@handler(CANARY_HANDLER, quick=True)
def canary(_payload: Any, context: Context) -> dict[str, float]:
    """How late it is, by this machine's clock. That it came back is the recorder's to say."""
    late = datetime.now(UTC) - fire_of(context.run.run_id)
    return {"late_ms": round(late.total_seconds() * 1000, 1)}


@handler("builtin.sleep")
def sleep(payload: Any, context: Context) -> dict[str, float]:
    """`{"seconds": 1.5}` or just the number; ends at once when it is told to stop."""
    given = payload.get("seconds", 1) if isinstance(payload, dict) else payload
    seconds = 1.0 if given is None else given
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not seconds >= 0:
        raise TargetFailed('give the payload {"seconds": 0 or more}', retryable=False)
    context.sleep(seconds)
    return {"slept_seconds": seconds}


@handler("builtin.fail", quick=True)
def fail(payload: Any, context: Context) -> dict[str, int]:
    """`{"message", "retryable", "attempts"}`: fails that many attempts, or all of them."""
    asked = payload if isinstance(payload, dict) else {}
    attempts = asked.get("attempts")
    if isinstance(attempts, int) and context.run.attempt > attempts:
        return {"succeeded_at_attempt": context.run.attempt}
    message = str(asked.get("message", "builtin.fail fails, as it was asked to"))
    raise TargetFailed(message, retryable=bool(asked.get("retryable", True)))
