"""Whoever counts what groups have read asks for the groups that the stack makes, and may."""

from collections.abc import Sequence

import pytest

from infra.aws.constructs.broker import groups
from infra.aws.environment import Surroundings, environment
from infra.aws.options import Options
from infra.aws.profiles import PROFILES
from lamplighter.adapters.memory.bus import MemoryBus
from lamplighter.contracts.topics import all_topics
from lamplighter.ports.bus import COUNT_SECONDS, Place
from lamplighter.settings import load
from lamplighter.stages.capacity import Window, probe


class AskedBus(MemoryBus):
    def __init__(self) -> None:
        super().__init__()
        self.asked: set[str] = set()

    def lags(
        self, group: str, topics: Sequence[str], *, seconds: float = COUNT_SECONDS
    ) -> dict[Place, int]:
        self.asked.add(group)
        return super().lags(group, topics, seconds=seconds)


@pytest.mark.parametrize("name", ["standard", "large"])
def test_the_watcher_counts_the_groups_of_the_mappings_and_of_the_workers(name: str) -> None:
    around = Surroundings(
        database_url="postgresql://ledger/lamplighter",
        valkey_url="rediss://cache:6379",
        kafka_servers="broker:9098",
        sqs_prefix=None,
        log_bucket="logs",
        alerts="topic",
        courier="courier",
    )
    settings = load(environment("watcher", Options(PROFILES[name]), around))
    bus = AskedBus()
    bus.ensure_topics(all_topics(settings.windows()))

    Window(bus, settings.windows(), mapped=settings.pools_of_mappings()).free()
    asked_of_runs = set(bus.asked)
    probe(bus)

    of_runs = {group for group in groups() if group.startswith("executor.")}
    assert asked_of_runs == of_runs
    assert bus.asked <= set(groups())
