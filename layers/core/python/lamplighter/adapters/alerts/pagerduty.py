"""Triggers an incident: PagerDuty's Events API, version 2."""

from typing import Any, Final

import msgspec

from lamplighter.adapters.alerts.posting import Send, known, post
from lamplighter.contracts.answers import shown_instant
from lamplighter.ports.alerts import Alert
from lamplighter.ports.secrets import Held

# What PagerDuty cuts, or refuses.
_SUMMARY: Final = 1024


class PagerDutyAlerts:
    def __init__(self, url: str, routing_key: Held, send: Send) -> None:
        self._url = url
        self._routing_key = routing_key
        self._send = send

    def send(self, alert: Alert) -> None:
        post(self._send, self._url, msgspec.json.encode(self._event(alert)))

    def _event(self, alert: Alert) -> dict[str, Any]:
        return {
            "routing_key": known(self._routing_key),
            "event_action": "trigger",
            "dedup_key": alert.dedup_key,
            "payload": {
                "summary": alert.summary[:_SUMMARY],
                "source": "lamplighter",
                "severity": "critical",
                "timestamp": shown_instant(alert.ended_at),
                "component": alert.job_name,
                "group": alert.tenant,
                "class": alert.status,
                "custom_details": {
                    "job_id": str(alert.job_id),
                    "run_id": str(alert.run_id),
                    "fire_at": shown_instant(alert.fire_at),
                    "attempt": alert.attempt,
                    "error": alert.error,
                },
            },
        }
