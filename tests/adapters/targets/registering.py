"""A module of a deployment, which registers its handlers when it is imported."""

from typing import Any

from lamplighter.adapters.targets.python.handlers import handler
from lamplighter.ports.target import Context


@handler("deployed.shout")
def shout(payload: Any, _context: Context) -> str:
    return str(payload).upper()
