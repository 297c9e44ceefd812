"""What no job may address: the scheduler's own queues, its topic of alerts, its courier.

A worker's role may use them, for the worker's own sake. A job that could would write to the bus in
the name of any tenant.
"""

import re
from collections.abc import Collection
from typing import Any, Final
from urllib.parse import unquote

from lamplighter.ports.target import Context, Target, TargetFailed, TargetResult

_ADDRESSES: Final = ("queue_url", "topic_arn", "function")
# Of URLs and ARNs. However a name is wrapped, it stands between two of these.
_BETWEEN: Final = re.compile(r"[/\\:?#&=;]+")


class NotOurs:
    """A target of AWS, for all addresses but those with one of these names in them."""

    def __init__(self, target: Target[Any], ours: Collection[str]) -> None:
        self._target = target
        self._ours = frozenset(ours)

    def run(self, spec: Any, context: Context) -> TargetResult:
        for address in (getattr(spec, name, "") for name in _ADDRESSES):
            if self._ours.intersection(_BETWEEN.split(unquote(address))):
                raise TargetFailed(
                    f"{address} is the scheduler's own, and not for jobs", retryable=False
                )
        return self._target.run(spec, context)

    def is_quick(self, spec: Any) -> bool:
        return self._target.is_quick(spec)

    def patience(self, spec: Any) -> float:
        return self._target.patience(spec)
