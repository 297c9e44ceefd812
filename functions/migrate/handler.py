"""Migrate: tables and topics, before anything uses them. At every deployment; safe to repeat."""

from typing import Any

from lamplighter import wiring
from lamplighter.adapters.postgres.migrate import migrate
from lamplighter.contracts.topics import all_topics


@wiring.invoked
def handler(event: dict[str, Any], context: object) -> dict[str, Any]:  # noqa: ARG001 - Lambda's
    """Any event in; what was applied out."""
    given = wiring.settings()
    applied = migrate(wiring.database(), days_ahead=given.partition_days_ahead)
    topics = all_topics(given.windows())
    wiring.bus().ensure_topics(topics)
    return {"applied": applied, "topics": [topic.name for topic in topics]}
