"""All ways that are configured."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from lamplighter.adapters.alerts.pagerduty import PagerDutyAlerts
from lamplighter.adapters.alerts.posting import Send
from lamplighter.adapters.alerts.webhook import WebhookAlerts
from lamplighter.ports.alerts import Alerts
from lamplighter.settings import Settings

if TYPE_CHECKING:
    from lamplighter.adapters.targets.aws.clients import Clients


def all_ways(settings: Settings, clients: "Callable[[], Clients]", send: Send) -> list[Alerts]:
    """None of them: nobody is woken."""
    ways: list[Alerts] = []
    if settings.alert_sns_topic:
        # AWS's library takes longer to import than all the rest: only who uses it waits for it.
        from lamplighter.adapters.alerts.sns import SnsAlerts

        ways.append(SnsAlerts(settings.alert_sns_topic, clients()))
    if settings.pagerduty_routing_key:
        ways.append(PagerDutyAlerts(settings.pagerduty_url, settings.pagerduty_routing_key, send))
    if settings.alert_webhook_url:
        secret = settings.alert_webhook_secret
        ways.append(WebhookAlerts(settings.alert_webhook_url, secret, send))
    return ways
