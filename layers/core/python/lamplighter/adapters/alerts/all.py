"""All ways that are configured."""

from lamplighter.adapters.alerts.pagerduty import PagerDutyAlerts
from lamplighter.adapters.alerts.posting import Send
from lamplighter.adapters.alerts.sns import SnsAlerts
from lamplighter.adapters.alerts.webhook import WebhookAlerts
from lamplighter.adapters.targets.aws.clients import Clients
from lamplighter.ports.alerts import Alerts
from lamplighter.settings import Settings


def all_ways(settings: Settings, clients: Clients, send: Send) -> list[Alerts]:
    """None of them: nobody is woken."""
    ways: list[Alerts] = []
    if settings.alert_sns_topic:
        ways.append(SnsAlerts(settings.alert_sns_topic, clients))
    if settings.pagerduty_routing_key:
        ways.append(PagerDutyAlerts(settings.pagerduty_url, settings.pagerduty_routing_key, send))
    if settings.alert_webhook_url:
        secret = settings.alert_webhook_secret
        ways.append(WebhookAlerts(settings.alert_webhook_url, secret, send))
    return ways
