"""Whoever counts what groups have read asks for the groups that the stack makes, and may."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from infra.aws.constructs.broker import groups
from infra.aws.environment import Surroundings, environment
from infra.aws.options import Options
from infra.aws.profiles import PROFILES, Profile
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


# As the runbook for a second region says: its pool is one more window.
ELSEWHERE = replace(PROFILES["standard"], windows={**PROFILES["standard"].windows, "eu": 800})


@pytest.mark.parametrize(
    "profile",
    [PROFILES["standard"], PROFILES["large"], ELSEWHERE],
    ids=["standard", "large", "with a pool elsewhere"],
)
def test_the_watcher_counts_the_groups_of_the_mappings_and_of_the_workers(profile: Profile) -> None:
    around = Surroundings(
        database_url="postgresql://ledger/lamplighter",
        valkey_url="rediss://cache:6379",
        kafka_servers="broker:9098",
        sqs_prefix=None,
        log_bucket="logs",
        alerts="topic",
        courier="courier",
        subnets=(),
    )
    settings = load(environment("watcher", Options(profile), around))
    bus = AskedBus()
    bus.ensure_topics(all_topics(settings.windows()))

    Window(bus, settings.windows(), mapped=settings.pools_of_mappings()).free()
    asked_of_runs = set(bus.asked)
    probe(bus)

    of_runs = {group for group in groups(profile) if group.startswith("executor.")}
    assert asked_of_runs == of_runs
    assert bus.asked <= set(groups(profile))
