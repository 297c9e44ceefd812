"""Puts an event on a bus. The payload is its detail, with a `lamplighter` entry about the run."""

from typing import Any, Final

from lamplighter.adapters.targets.aws.calls import PATIENCE, explained, introduced
from lamplighter.adapters.targets.aws.clients import Clients
from lamplighter.domain.target import EventBridgeSpec
from lamplighter.ports.target import Context, TargetFailed, TargetResult

_PASSING: Final = ("InternalFailure", "InternalException", "ThrottlingException")


class EventBridgeTarget:
    def __init__(self, clients: Clients) -> None:
        self._clients = clients

    def run(self, spec: EventBridgeSpec, context: Context) -> TargetResult:
        event = {
            "EventBusName": spec.bus,
            "Source": spec.source,
            "DetailType": spec.detail_type,
            "Detail": introduced(context.run),
        }
        with explained("eventbridge"):
            answer = self._clients.get("events", spec.region).put_events(Entries=[event])
        return _judge(answer["Entries"][0])

    def is_quick(self, _spec: EventBridgeSpec) -> bool:
        return False

    def patience(self, _spec: EventBridgeSpec) -> float:
        return PATIENCE


def _judge(entry: dict[str, Any]) -> TargetResult:
    """The call succeeds even where the event was not taken."""
    if code := entry.get("ErrorCode"):
        raise TargetFailed(
            f"eventbridge: {code}: {entry.get('ErrorMessage', '')}", retryable=code in _PASSING
        )
    return TargetResult({"event_id": entry["EventId"]})
