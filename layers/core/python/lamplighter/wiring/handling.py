"""Around every function's handler."""

import gc
from collections.abc import Callable
from functools import cache, wraps
from typing import Any, TypeVar

from lamplighter.stages.spare import Spare
from lamplighter.telemetry.logs import told_in_every_line
from lamplighter.wiring.buses import answer, bury
from lamplighter.wiring.once import flush

T = TypeVar("T")


def invoked(handler: Callable[[dict[str, Any], Any], T]) -> Callable[[dict[str, Any], Any], T]:
    """Around a function's handler: its lines say whose they are, and what it told leaves with it.

    However it ends; and needs no settings, so that a handler can say which of them is wrong.
    """
    function = handler.__module__.split(".")[1]

    @wraps(handler)
    def invoke(event: dict[str, Any], context: Any) -> T:
        calm_collector()
        request_id = getattr(context, "aws_request_id", None)
        try:
            with told_in_every_line(function=function, request_id=request_id):
                return handler(event, context)
        finally:
            flush()

    return invoke


@cache
def calm_collector() -> None:
    """Once in a process: look for circles rarely, and never in what the imports have made.

    A batch makes thousands of small objects, none of them in a circle. With Python's own settings
    the search through all of them took a tenth of the time.
    """
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)


def spared(
    handler: Callable[[dict[str, Any], Any], dict[str, Any]],
) -> Callable[[dict[str, Any], Any], dict[str, Any]]:
    """Around a handler that mappings call: a message that breaks it takes no other along."""
    spare = Spare(handler.__module__.split(".")[1], handler, bury=bury, answer=answer)

    @wraps(handler)
    def handle(event: dict[str, Any], context: Any) -> dict[str, Any]:
        return spare(event, context)

    return handle
