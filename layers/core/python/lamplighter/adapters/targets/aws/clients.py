"""boto3 clients, made when first needed and shared: making one costs more than using it."""

import os
import threading
from typing import Any, Final

import boto3
from botocore.config import Config
from botocore.exceptions import NoRegionError

from lamplighter.adapters.targets.aws.carried import Send, carry

DEFAULT_READ_SECONDS: Final = 60
# A client's read timeout is fixed when it is made; with these steps there are few of them.
_READ_STEPS: Final = (5, 10, 20, 30, 60, 120, 300, 600, 900)


class NoRegion(NoRegionError):
    """boto3's own words do not say where it looks."""

    fmt = "no region is known: set AWS_REGION, or `aws configure set region …` for your profile"


class Clients:
    """Of the region that is given, else AWS_REGION, else where boto3 looks.

    boto3 does not know that variable, by which Lambda, the CDK and AWS's command line go.
    """

    def __init__(self, region: str | None = None) -> None:
        self._region = region
        self._lock = threading.Lock()
        self._session: boto3.session.Session | None = None
        self._made: dict[tuple[str, str | None, int, bool], Any] = {}
        self._carried: dict[str, Send] = {}

    def carry(self, service: str, send: Send) -> None:
        """Let somebody else take out what is for a service. To be said before it is called."""
        self._carried[service] = send

    def get(
        self,
        service: str,
        region: str | None = None,
        *,
        read_seconds: float = DEFAULT_READ_SECONDS,
        repeat: bool = True,
    ) -> Any:
        """A client that waits at least so long for an answer.

        Without `repeat` it sends each request once: for calls that would do their work twice.
        """
        seconds = next((step for step in _READ_STEPS if step >= read_seconds), _READ_STEPS[-1])
        key = (service, region or self._region, seconds, repeat)
        with self._lock:
            if key not in self._made:
                self._made[key] = self._make(*key)
            return self._made[key]

    def _make(self, service: str, region: str | None, seconds: int, repeat: bool) -> Any:  # noqa: FBT001
        self._session = self._session or boto3.session.Session()
        config = Config(
            connect_timeout=5,
            read_timeout=seconds,
            retries={"mode": "standard", "total_max_attempts": 3 if repeat else 1},
            max_pool_connections=50,
            tcp_keepalive=True,
        )
        make: Any = self._session.client  # typed per service, and the name is a variable here
        named = region or os.environ.get("AWS_REGION")
        try:
            client = make(service, region_name=named, config=config)
        except NoRegionError:
            raise NoRegion from None
        if send := self._carried.get(service):
            carry(client, send)
        return client
