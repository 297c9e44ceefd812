"""The brokers that the suite runs over, and what can be done to each."""

import os
import signal
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from typing import ClassVar

import pytest

from infra.local.service import Service
from lamplighter.adapters.kafka.bus import KafkaBus
from lamplighter.adapters.kafka.config import KafkaAccess
from lamplighter.adapters.memory.bus import MemoryBus
from lamplighter.adapters.sqs.bus import SqsBus
from lamplighter.adapters.streams.bus import StreamsBus
from lamplighter.adapters.targets.aws.clients import Clients
from lamplighter.ports.bus import Bus, Capability

# Who stands still for longer is taken for dead, and loses what it has in hand: longer than a busy
# machine lets anybody wait.
SESSION_SECONDS = 5.0
# For a reader that is to be missed: short enough to wait for.
SHORT_SESSION = 1.0
PUBLISH_SECONDS = 2.0
# What fails in time, fails soon after it, however busy the machine is.
NOISE = 8.0


def connect(kind: str, url: str, publish_seconds: float = 10.0) -> Bus:
    if kind == "kafka":
        return KafkaBus(KafkaAccess(url), publish_seconds=publish_seconds)
    return StreamsBus(url, publish_seconds=publish_seconds)


class Broker(ABC):
    kind: ClassVar[str]
    # A large batch: many times what one call of the adapter carries.
    many: ClassVar[int] = 5_000

    @abstractmethod
    def bus(self, publish_seconds: float = 10.0) -> Bus: ...


class Memory(Broker):
    kind = "memory"

    def __init__(self) -> None:
        self._bus = MemoryBus()

    def bus(self, publish_seconds: float = 10.0) -> Bus:  # noqa: ARG002
        return self._bus


class Sqs(Broker):
    """Whoever asks for it plays it: tests/adapters/bus/moto_sqs.py."""

    kind = "sqs"
    many = 200
    clients: ClassVar = Clients("eu-central-1")

    def bus(self, publish_seconds: float = 10.0) -> Bus:
        return SqsBus(self.clients, prefix="test", publish_seconds=publish_seconds)


class Served(Broker):
    """A broker that is a process: it can be stopped, crashed and frozen."""

    def __init__(self, kind: str, server: Service) -> None:
        self.kind = kind  # type: ignore[misc]
        self.server = server

    @property
    def url(self) -> str:
        return self.server.url

    def bus(self, publish_seconds: float = 10.0) -> Bus:
        return connect(self.kind, self.url, publish_seconds)

    @contextmanager
    def stopped(self) -> Iterator[None]:
        self.server.stop()
        try:
            yield
        finally:
            self.server.start()

    @contextmanager
    def frozen(self) -> Iterator[None]:
        """It keeps its connections, takes what is sent, and does not answer."""
        os.kill(self.server.pid, signal.SIGSTOP)
        try:
            yield
        finally:
            os.kill(self.server.pid, signal.SIGCONT)


SERVED = [pytest.param("streams"), pytest.param("kafka", marks=pytest.mark.kafka)]
ALL = [pytest.param("memory"), *SERVED, pytest.param("sqs")]
BUSES: dict[str, type[Bus]] = {
    "memory": MemoryBus,
    "streams": StreamsBus,
    "kafka": KafkaBus,
    "sqs": SqsBus,
}

# A test for those that are a process asks for them by this mark.
on_real_brokers = pytest.mark.parametrize("broker", SERVED, indirect=True)
# A test for those where a reader can be missed asks for them by this one.
on_brokers_with_sessions = pytest.mark.parametrize(
    "broker", [*SERVED, pytest.param("sqs")], indirect=True
)


def able(kind: str, *needed: Capability) -> bool:
    """What the adapter's class declares decides; nobody else leaves a test out."""
    declared: frozenset[Capability] = getattr(BUSES[kind], "capabilities")  # noqa: B009
    return declared.issuperset(needed)


def needs(*capabilities: Capability) -> pytest.MarkDecorator:
    """Over all that declare these capabilities."""
    found = [each for each in ALL if able(str(each.values[0]), *capabilities)]
    return pytest.mark.parametrize("broker", found, indirect=True)
