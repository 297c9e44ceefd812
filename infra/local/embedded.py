"""Which services a stack starts itself, and where every service is found once they run."""

from pathlib import Path
from typing import Final

import msgspec

from infra.local.kafka.server import Kafka
from infra.local.postgres import Postgres
from infra.local.service import Service, without_password
from infra.local.valkey import Valkey
from lamplighter.settings import Bus, Settings

DATABASE: Final = "lamplighter"


def embedded(settings: Settings, folder: Path) -> list[Service]:
    """Those that are not given by URL."""
    services: list[Service] = []
    if not settings.database_url:
        services.append(Postgres(folder / Postgres.name))
    if not settings.valkey_url:
        services.append(Valkey(folder / Valkey.name))
    if settings.bus is Bus.KAFKA and not settings.kafka_bootstrap_servers:
        services.append(Kafka(folder / Kafka.name))
    return services


def addressed(settings: Settings, running: list[Service]) -> Settings:
    """The settings with the addresses of what runs, as every component is told them."""
    found: dict[str, str] = {}
    for service in running:
        match service:
            case Postgres():
                found["database_url"] = service.ensure_database(DATABASE)
            case Valkey():
                found["valkey_url"] = service.url
            case Kafka():
                found["kafka_bootstrap_servers"] = service.url
    return msgspec.structs.replace(settings, **found)


def addresses(settings: Settings) -> dict[str, str]:
    """Where each service is, as far as the settings say."""
    kafka = settings.kafka_bootstrap_servers if settings.bus is Bus.KAFKA else None
    known = {
        Postgres.name: settings.database_url,
        Valkey.name: settings.valkey_url,
        Kafka.name: kafka,
    }
    return {name: url for name, url in known.items() if url}


def shown(url: str) -> str:
    """Fit for a screen. Kafka's addresses are no URLs, and hold no password."""
    return without_password(url) if "://" in url else url
