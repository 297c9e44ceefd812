"""Publishes an alert to a topic: mail, text messages and chat are subscriptions of it."""

from typing import Any, Final

import msgspec

from lamplighter.adapters.targets.aws.calls import explained
from lamplighter.adapters.targets.aws.clients import Clients
from lamplighter.ports.alerts import Alert, AlertFailed
from lamplighter.ports.target import TargetFailed

# SNS allows 100 characters, printable ASCII, in what becomes the subject of a mail.
_SUBJECT: Final = 100
_READ_SECONDS: Final = 5


class SnsAlerts:
    def __init__(self, topic_arn: str, clients: Clients) -> None:
        self._topic_arn = topic_arn
        self._clients = clients

    def send(self, alert: Alert) -> None:
        try:
            with explained("sns"):
                self._clients.get("sns", self._region, read_seconds=_READ_SECONDS).publish(
                    TopicArn=self._topic_arn,
                    Subject=_subject(alert),
                    Message=msgspec.json.encode(alert).decode(),
                    MessageAttributes=_attributes(alert),
                    **self._options(alert),
                )
        except TargetFailed as problem:
            raise AlertFailed(str(problem), retryable=problem.retryable) from None

    @property
    def _region(self) -> str | None:
        """The topic's own, out of arn:aws:sns:<region>:<account>:<name>."""
        parts = self._topic_arn.split(":")
        return parts[3] if len(parts) > 5 and parts[3] else None

    def _options(self, alert: Alert) -> dict[str, str]:
        if not self._topic_arn.endswith(".fifo"):
            return {}
        return {
            "MessageGroupId": str(alert.job_id),
            "MessageDeduplicationId": str(alert.run_id),
        }


def _subject(alert: Alert) -> str:
    plain = "".join(c if " " <= c <= "~" else "?" for c in f"Lamplighter: {alert.summary}")
    return plain if len(plain) <= _SUBJECT else f"{plain[: _SUBJECT - 3]}..."


def _attributes(alert: Alert) -> dict[str, Any]:
    """For subscriptions that want only some of them."""
    given = {"tenant": alert.tenant, "status": alert.status, "job_id": str(alert.job_id)}
    return {name: {"DataType": "String", "StringValue": value} for name, value in given.items()}
