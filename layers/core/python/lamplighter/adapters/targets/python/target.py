"""Calls a handler with the payload and the context. What it returns is the run's result."""

import traceback
from typing import Any, Final

from lamplighter.adapters.targets.python.handlers import Handler, Handlers
from lamplighter.adapters.targets.python.interrupting import COOPERATION_SECONDS, interrupted_by
from lamplighter.adapters.targets.python.printing import printing_to
from lamplighter.domain.target import PythonSpec
from lamplighter.ports.target import Context, Stopped, TargetFailed, TargetResult

_PATIENCE: Final = COOPERATION_SECONDS + 1.0
_FRAMES: Final = 20


class PythonTarget:
    def __init__(self, handlers: Handlers) -> None:
        self._handlers = handlers

    def run(self, spec: PythonSpec, context: Context) -> TargetResult:
        handler = self._handlers.find(spec.handler)
        if handler.quick:
            return TargetResult(handler.function(context.run.payload, context))
        return TargetResult(_call(handler, context))

    def is_quick(self, spec: PythonSpec) -> bool:
        return self._handlers.is_quick(spec.handler)

    def patience(self, _spec: PythonSpec) -> float:
        return _PATIENCE


def _call(handler: Handler, context: Context) -> Any:
    try:
        with printing_to(context), interrupted_by(context):
            return handler.function(context.run.payload, context)
    except SystemExit as leaving:
        # A script that became a handler often ends so; leaving with 0 is its way to return.
        if leaving.code in (None, 0):
            return None
        raise TargetFailed(f"the handler called sys.exit({leaving.code!r})") from None
    except (TargetFailed, Stopped):
        raise
    except BaseException:
        context.stderr.write(traceback.format_exc(limit=-_FRAMES).encode(errors="replace"))
        raise
