"""One stack per bus for all tests that disturb nobody; who breaks something starts another."""

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from infra.local.service import free_port
from tests.adapters.targets.receiver import Receiver, a_receiver
from tests.e2e.aws import REGION
from tests.e2e.stack import Stack

BUSES = [
    pytest.param("streams", marks=pytest.mark.xdist_group("stack-streams")),
    pytest.param("kafka", marks=[pytest.mark.kafka, pytest.mark.xdist_group("kafka")]),
]
PAGERDUTY_KEY: Final = "R0UT1NGKEY"
ALERT_TOPIC: Final = f"arn:aws:sns:{REGION}:123456789012:alerts"
WEBHOOK_SECRET: Final = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"


@pytest.fixture(scope="session")
def receiver() -> Iterator[Receiver]:
    """Gets webhooks and alerts."""
    with a_receiver() as running:
        yield running


@pytest.fixture(scope="session")
def aws_port() -> int:
    """Where the stack looks for AWS; a test that needs one there starts it."""
    return free_port()


@pytest.fixture(scope="session", params=BUSES)
def stack(request: pytest.FixtureRequest, receiver: Receiver, aws_port: int) -> Iterator[Stack]:
    """With a third pool, `eu`, of which four runs at most lie on the bus."""
    environment = {
        "LAMPLIGHTER_POOLS": "default=2000,tasks=64,eu=4",
        "LAMPLIGHTER_WEBHOOK_SECRET": WEBHOOK_SECRET,
        "LAMPLIGHTER_ALERT_WEBHOOK_URL": receiver.url("json"),
        "LAMPLIGHTER_ALERT_WEBHOOK_SECRET": WEBHOOK_SECRET,
        "LAMPLIGHTER_PAGERDUTY_URL": receiver.url("202"),
        "LAMPLIGHTER_PAGERDUTY_ROUTING_KEY": PAGERDUTY_KEY,
        "LAMPLIGHTER_ALERT_SNS_TOPIC": ALERT_TOPIC,
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{aws_port}",
        "AWS_DEFAULT_REGION": REGION,
        "AWS_ACCESS_KEY_ID": "testing",
        "AWS_SECRET_ACCESS_KEY": "testing",
    }
    with (
        tempfile.TemporaryDirectory(prefix="lamplighter-") as folder,
        Stack(Path(folder) / "data", bus=request.param, environment=environment) as running,
    ):
        yield running
        running.verify()


@pytest.fixture(scope="session")
def sleepers(stack: Stack) -> Iterator[dict[str, str]]:
    """A job of each class that would take an hour and names no timeout.

    The first of them ends after a minute: begun with the stack, it is over when it is looked at.
    """
    priorities = {"P1": 1, "P2": 3, "P3": 6, "P4": 9}
    jobs = {
        name: stack.submit(command="sleep 3600", priority=priority, max_retries=0)
        for name, priority in priorities.items()
    }
    yield jobs
    stack.cancel(*jobs.values())


@pytest.fixture(scope="module")
def checked(stack: Stack, sleepers: dict[str, str]) -> Iterator[None]:
    """The checker looks after a module, too, so that one knows whose doing it was."""
    yield
    stack.verify()
