"""Posts an alert to a URL, signed as http targets are (Standard Webhooks)."""

import time
from collections.abc import Callable

import msgspec

from lamplighter.adapters.alerts.posting import Send, known, post
from lamplighter.adapters.targets.http.signing import signed_headers
from lamplighter.ports.alerts import Alert, AlertFailed
from lamplighter.ports.secrets import Held


class WebhookAlerts:
    def __init__(
        self, url: Held, secret: Held | None, send: Send, now: Callable[[], float] = time.time
    ) -> None:
        self._url = url
        self._secret = secret
        self._send = send
        self._now = now

    def send(self, alert: Alert) -> None:
        body = msgspec.json.encode({"type": "job.alert", "data": alert, "summary": alert.summary})
        # The same id for the same run: a receiver that has seen it may drop it.
        secret = None if self._secret is None else known(self._secret)
        headers = signed_headers(secret, alert.dedup_key, int(self._now()), body)
        post(self._send, self._where(), body, headers)

    def _where(self) -> str:
        url = known(self._url)
        if not url.startswith(("http://", "https://")):
            raise AlertFailed("the secret that should be an alert's URL is none", retryable=False)
        return url
