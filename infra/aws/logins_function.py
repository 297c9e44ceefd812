"""Has RDS's owner make the logins: a custom resource's function, outside the network.

Shipped as this one file, so it imports nothing of ours. Through the Data API: inside, the owner's
password would take an endpoint, for a call of a deployment's life. A database that rests cancels
the statement that wakes it, and is asked again for as long as a resume may take.
"""

import time
from collections.abc import Callable, Mapping
from typing import Any

import boto3
from botocore.exceptions import ClientError

# Always the same: another one would make CloudFormation delete the one before.
RESOURCE_ID = "login"
# Half a minute is usual, and longer after a day.
WAKE_SECONDS = 120.0
PAUSE_SECONDS = 3.0
_PASSING = frozenset(
    {
        "DatabaseResumingException",
        "DatabaseUnavailableException",
        "ServiceUnavailableError",
        "InternalServerErrorException",
        "ThrottlingException",
    }
)


def handler(event: dict[str, Any], context: object) -> dict[str, Any]:  # noqa: ARG001 - Lambda's
    """A custom resource's event in. Deleting it deletes no login."""
    if event["RequestType"] != "Delete":
        asked = event["ResourceProperties"]
        names = ("resourceArn", "secretArn", "database", "sql")
        execute(boto3.client("rds-data"), {name: asked[name] for name in names})
    return {"PhysicalResourceId": RESOURCE_ID}


def execute(
    client: Any,
    statement: Mapping[str, str],
    sleep: Callable[[float], None] = time.sleep,
    now: Callable[[], float] = time.monotonic,
) -> None:
    """Until the database is awake; what it then refuses, or a resume without end, is raised."""
    end = now() + WAKE_SECONDS
    while True:
        try:
            client.execute_statement(**statement)
        except ClientError as error:
            if error.response["Error"]["Code"] not in _PASSING or now() >= end:
                raise
            sleep(PAUSE_SECONDS)
        else:
            return
