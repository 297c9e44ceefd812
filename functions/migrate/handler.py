"""Migrate: tables, roles, topics and the canary, before anything uses them. At every deployment.

Called with a custom resource's event (through CDK's `cr.Provider`), or with anything else by hand;
safe to repeat. Deleting the resource deletes no data.
"""

from typing import Any
from urllib.parse import unquote, urlsplit

from lamplighter import wiring
from lamplighter.adapters.postgres.migrate import migrate
from lamplighter.adapters.postgres.role import ensure_role
from lamplighter.contracts.topics import all_topics
from lamplighter.stages.canary import ensure_canary

# Always the same: another one would make CloudFormation delete the one before.
RESOURCE_ID = "lamplighter-ledger"
# A database that pauses lets whoever wakes it wait: half a minute, and longer after a day.
_WAKE_SECONDS = 90


@wiring.invoked
def handler(event: dict[str, Any], context: object) -> dict[str, Any]:  # noqa: ARG001 - Lambda's
    """Any event in; what was done out.

    `AdminSecret` of its properties says who makes tables, where who `database_url` names may not.
    """
    if event.get("RequestType") == "Delete":
        return {"PhysicalResourceId": event.get("PhysicalResourceId", RESOURCE_ID)}
    given = wiring.settings()
    asked = event.get("ResourceProperties", {})
    admin = wiring.admin_database(asked.get("AdminSecret"))
    applied = migrate(admin, days_ahead=given.partition_days_ahead, wake_seconds=_WAKE_SECONDS)
    login = given.database_login or _user(given.database_url or "")
    has_role = given.database_iam and ensure_role(admin, login)
    topics = all_topics(given.windows())
    wiring.bus().ensure_topics(topics)
    canary = ensure_canary(wiring.desk(), given.canary_seconds)
    return {
        "PhysicalResourceId": RESOURCE_ID,
        "Data": {"Applied": len(applied), "Canary": str(canary or "")},
        "applied": applied,
        "role": has_role,
        "topics": [topic.name for topic in topics],
    }


def _user(url: str) -> str:
    """Who the functions are in the database, where nothing else is said."""
    return unquote(urlsplit(url).username or "")
