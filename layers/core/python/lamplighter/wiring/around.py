"""What a process knows of itself: its settings, its name, where it runs, and whom it tells."""

import os
import socket
from pathlib import Path
from typing import TYPE_CHECKING, Final
from uuid import uuid4

from lamplighter import fail_points
from lamplighter.ports.traces import Span, Spans
from lamplighter.settings import InvalidSettings, Settings, load
from lamplighter.telemetry import Telemetry, to_stdout
from lamplighter.telemetry.logs import write_json
from lamplighter.wiring.once import at_the_end, once

if TYPE_CHECKING:
    from lamplighter.adapters.targets.aws.clients import Clients
    from lamplighter.stages.trace import Tracer

# Spans that wait to be sent; and how long a function waits for that before it is stopped.
_TRACED: Final = 10_000
_TRACE_SECONDS: Final = 1.0
_TRACE_REST: Final = 60.0


@once
def settings() -> Settings:
    given = load(os.environ)
    fail_points.watch(Path(given.fail_points) if given.fail_points else None)
    if is_on_aws():
        write_json(given.log_level)
    return given


@once
def process() -> str:
    """Who this process is, among all that ever were: worker and lease holder."""
    return f"{socket.gethostname()[:40]}-{os.getpid()}-{uuid4().hex[:8]}"


def is_on_aws() -> bool:
    return is_lambda() or "ECS_CONTAINER_METADATA_URI_V4" in os.environ


def is_lambda() -> bool:
    return "AWS_LAMBDA_FUNCTION_NAME" in os.environ


def region() -> str:
    """Lambda says it to its functions, and the stack to its tasks."""
    return required("AWS_REGION", os.environ.get("AWS_REGION"))


def required(variable: str, value: str | None) -> str:
    if value is None:
        raise InvalidSettings(f"{variable} is not set. This function cannot work without it.")
    return value


@once
def telemetry() -> Telemetry:
    """Lambda and ECS send standard output to CloudWatch; elsewhere `/metrics` has it all."""
    made = Telemetry(to_stdout if is_on_aws() else None, settings().cell)
    at_the_end(made.flush)
    return made


@once
def tracer() -> "Tracer | None":
    if not settings().traces:
        return None
    from lamplighter.stages.effort import Effort
    from lamplighter.stages.outbox import Outbox
    from lamplighter.stages.trace import Tracer

    spans, effort = _spans(), Effort("sending traces", rest_seconds=_TRACE_REST)
    outbox = Outbox[Span]("traces", lambda some: effort.make(lambda: spans.put(some)), room=_TRACED)
    # Where nobody takes them, nobody waits for that either.
    at_the_end(lambda: effort.is_resting or outbox.drain(_TRACE_SECONDS))
    return Tracer(outbox, settings().trace_one_in)


def _spans() -> Spans:
    if is_on_aws():
        from lamplighter.adapters.traces.xray import XRaySpans

        return XRaySpans(clients())
    from lamplighter.adapters.traces.file import FileSpans

    return FileSpans(Path(settings().data_dir) / "traces.jsonl")


@once
def clients() -> "Clients":
    from lamplighter.adapters.targets.aws.clients import Clients

    made = Clients()
    if function := settings().courier_function:
        from lamplighter.adapters.targets.http.courier import CourierSender

        # An endpoint for SNS would be paid for by the hour, and stand idle for most of them.
        made.carry("sns", CourierSender(function, made).send_alone)
    return made
