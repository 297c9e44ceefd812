"""The floor of a submission: the same gateway, and a function that inserts one row and commits.

`python -m benchmarks.insert_only PORT DATABASE_URL`
"""

import json
import sys
import uuid
from http import HTTPStatus
from typing import Any, Final

from psycopg_pool import ConnectionPool

from infra.local.gateway.app import Function, Gateway
from infra.local.gateway.server import server
from lamplighter.contracts.http import Response
from lamplighter.contracts.http_api import Api

CONNECTIONS: Final = 8  # as many as a process of ours has
_TABLE: Final = "CREATE TABLE IF NOT EXISTS only_rows (id uuid PRIMARY KEY, body jsonb NOT NULL)"
_INSERT: Final = "INSERT INTO only_rows VALUES (%s, %s)"


def main(port: int, database_url: str) -> None:
    pool = ConnectionPool(
        database_url, min_size=CONNECTIONS, max_size=CONNECTIONS, kwargs={"autocommit": True}
    )
    with pool.connection() as conn:
        conn.execute(_TABLE)

    def insert(event: dict[str, Any], _: object) -> dict[str, Any]:
        made = uuid.uuid4()
        with pool.connection() as conn:
            conn.execute(_INSERT, [made, event["body"]])
        headers = {"content-type": "application/json"}
        return {"statusCode": 201, "headers": headers, "body": json.dumps({"job_id": str(made)})}

    api: Api[Any] = Api(
        "insert", {"POST /jobs": lambda _desk, _request: Response(HTTPStatus.CREATED)}
    )
    server(Gateway([Function(api, insert)], port=port), port).run()


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2])
