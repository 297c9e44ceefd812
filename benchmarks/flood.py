"""Submits for another tenant: the local gateway has but one, so this stands in for a larger one.

`python -m benchmarks.flood TENANT COUNT TIME` calls the function itself, with the events that
a gateway with an authorizer would hand it, and with the settings of the stack that runs.
"""

import json
import os
import subprocess
import sys
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from benchmarks.due import BATCH, encoded
from benchmarks.running import Running

_ROOT: Final = Path(__file__).resolve().parent.parent
_VARIABLES: Final = {
    "postgres": "LAMPLIGHTER_DATABASE_URL",
    "valkey": "LAMPLIGHTER_VALKEY_URL",
    "kafka": "LAMPLIGHTER_KAFKA_BOOTSTRAP_SERVERS",
}


def flood(stack: Running, tenant: str, count: int, at: datetime) -> None:
    """So many jobs of this tenant, due then. Returns when all are submitted."""
    services = {each["name"]: str(each["url"]) for each in stack.state()["services"]}
    told = {_VARIABLES[name]: url for name, url in services.items()}
    told["LAMPLIGHTER_BUS"] = "kafka" if "kafka" in services else "streams"
    subprocess.run(
        [sys.executable, "-m", "benchmarks.flood", tenant, str(count), at.isoformat()],
        cwd=_ROOT, env={**os.environ, **told}, check=True, stdout=subprocess.DEVNULL,
    )  # fmt: skip


def main(tenant: str, count: int, at: datetime) -> None:
    from functions.submit.handler import handler

    for start in range(0, count, BATCH):
        body = encoded([at] * min(BATCH, count - start), {})
        answer = handler(event(tenant, body), None)
        if answer["statusCode"] != 201:
            raise RuntimeError(json.dumps(answer))


def event(tenant: str, body: bytes) -> dict[str, Any]:
    context = {
        "http": {"method": "POST", "path": "/jobs/batch", "sourceIp": "127.0.0.1"},
        "requestId": "bench",
        "stage": "$default",
        "authorizer": {"lambda": {"tenant": tenant, "role": "submitter"}},
    }
    return {
        "version": "2.0",
        "routeKey": "POST /jobs/batch",
        "rawPath": "/jobs/batch",
        "rawQueryString": "",
        "headers": {"content-type": "application/json"},
        "requestContext": context,
        "body": body.decode(),
        "isBase64Encoded": False,
    }


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), datetime.fromisoformat(sys.argv[3]))
