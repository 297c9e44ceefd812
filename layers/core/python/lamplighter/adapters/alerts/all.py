"""All ways that are configured."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from lamplighter.adapters.alerts.pagerduty import PagerDutyAlerts
from lamplighter.adapters.alerts.posting import Send
from lamplighter.adapters.alerts.webhook import WebhookAlerts
from lamplighter.ports.alerts import Alerts
from lamplighter.ports.secrets import Held
from lamplighter.settings import Settings

if TYPE_CHECKING:
    from lamplighter.adapters.targets.aws.clients import Clients


def all_ways(
    settings: Settings,
    clients: "Callable[[], Clients]",
    send: Send,
    held: Callable[[str], Held] = str,
) -> list[Alerts]:
    """None of them: nobody is woken. `held` knows which secrets are kept elsewhere."""
    ways: list[Alerts] = []
    if settings.alert_sns_topic:
        # AWS's library takes longer to import than all the rest: only who uses it waits for it.
        from lamplighter.adapters.alerts.sns import SnsAlerts

        ways.append(SnsAlerts(settings.alert_sns_topic, clients()))
    if settings.pagerduty_routing_key:
        key = held(settings.pagerduty_routing_key)
        ways.append(PagerDutyAlerts(settings.pagerduty_url, key, send))
    if settings.alert_webhook_url:
        secret = settings.alert_webhook_secret
        signing = held(secret) if secret else None
        ways.append(WebhookAlerts(held(settings.alert_webhook_url), signing, send))
    return ways
