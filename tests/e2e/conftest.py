"""One stack per bus for all tests that disturb nobody; who breaks something starts another."""

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from infra.local.service import free_port
from tests.adapters.targets.receiver import Receiver, a_receiver
from tests.e2e.stack import Stack

BUSES = [
    pytest.param("streams", marks=pytest.mark.xdist_group("stack-streams")),
    pytest.param("kafka", marks=[pytest.mark.kafka, pytest.mark.xdist_group("kafka")]),
]
AWS_REGION: Final = "eu-west-1"
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
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{aws_port}",
        "AWS_DEFAULT_REGION": AWS_REGION,
        "AWS_ACCESS_KEY_ID": "testing",
        "AWS_SECRET_ACCESS_KEY": "testing",
    }
    with (
        tempfile.TemporaryDirectory(prefix="lamplighter-") as folder,
        Stack(Path(folder) / "data", bus=request.param, environment=environment) as running,
    ):
        yield running
        running.verify()


@pytest.fixture(scope="module")
def checked(stack: Stack) -> Iterator[None]:
    """The checker looks after a module, too, so that one knows whose doing it was."""
    yield
    stack.verify()
