"""Posts an alert to a URL, signed as http targets are (Standard Webhooks)."""

import time
from collections.abc import Callable

import msgspec

from lamplighter.adapters.alerts.posting import Send, post
from lamplighter.adapters.targets.http.signing import signed_headers
from lamplighter.ports.alerts import Alert


class WebhookAlerts:
    def __init__(
        self, url: str, secret: str | None, send: Send, now: Callable[[], float] = time.time
    ) -> None:
        self._url = url
        self._secret = secret
        self._send = send
        self._now = now

    def send(self, alert: Alert) -> None:
        body = msgspec.json.encode({"type": "job.alert", "data": alert, "summary": alert.summary})
        # The same id for the same run: a receiver that has seen it may drop it.
        headers = signed_headers(self._secret, alert.dedup_key, int(self._now()), body)
        post(self._send, self._url, body, headers)
