"""The gateway's process: uvicorn on the loopback address, and the two functions behind it."""

from typing import Final

import uvicorn

from functions.query import handler as query
from functions.submit import handler as submit
from infra.local.gateway.app import Function, Gateway
from infra.local.gateway.protocol import BoundedProtocol
from infra.local.service import HOST

KEEP_ALIVE_SECONDS: Final = 30
# Less than a component's grace, so that the last answers leave before the process does.
STOP_SECONDS: Final = 8


def main(port: int) -> None:
    """Serve until SIGTERM, then answer what has arrived, and return."""
    functions = [Function(each.api, each.handler) for each in (submit, query)]
    server(Gateway(functions, port=port), port).run()


def server(gateway: Gateway, port: int) -> uvicorn.Server:
    return uvicorn.Server(
        uvicorn.Config(
            gateway,
            host=HOST,
            port=port,
            http=BoundedProtocol,
            ws="none",
            lifespan="off",
            interface="asgi3",
            log_config=None,
            log_level="warning",
            access_log=False,
            # Nobody stands in front of us whose word on addresses would count.
            proxy_headers=False,
            server_header=False,
            timeout_keep_alive=KEEP_ALIVE_SECONDS,
            timeout_graceful_shutdown=STOP_SECONDS,
        )
    )
