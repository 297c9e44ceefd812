"""Which services `up` starts: those that no setting gives an address for."""

from pathlib import Path

import pytest

from infra.local.embedded import addressed, addresses, embedded
from lamplighter.settings import Bus, Settings

DATABASE = "postgresql://elsewhere/db"
VALKEY = "valkey://elsewhere:6379/0"
KAFKA = "one.elsewhere:9092,two.elsewhere:9092"


def _given(**fields: object) -> Settings:
    return Settings(**fields)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("settings", "started"),
    [
        (_given(bus=Bus.KAFKA), ["postgres", "valkey", "kafka"]),
        (_given(bus=Bus.STREAMS), ["postgres", "valkey"]),
        (_given(bus=Bus.KAFKA, kafka_bootstrap_servers=KAFKA), ["postgres", "valkey"]),
        (_given(bus=Bus.KAFKA, database_url=DATABASE, valkey_url=VALKEY), ["kafka"]),
        (_given(bus=Bus.STREAMS, kafka_bootstrap_servers=KAFKA), ["postgres", "valkey"]),
    ],
)
def test_what_is_given_is_not_started(settings: Settings, started: list[str], folder: Path) -> None:
    assert [service.name for service in embedded(settings, folder)] == started


def test_given_addresses_stay_what_they_are_and_are_told() -> None:
    settings = _given(
        bus=Bus.KAFKA, database_url=DATABASE, valkey_url=VALKEY, kafka_bootstrap_servers=KAFKA
    )
    assert addressed(settings, []) == settings
    assert addresses(settings) == {"postgres": DATABASE, "valkey": VALKEY, "kafka": KAFKA}


def test_a_kafka_that_is_given_but_not_the_bus_is_not_told_of() -> None:
    settings = _given(bus=Bus.STREAMS, kafka_bootstrap_servers=KAFKA)
    assert addresses(settings) == {}
