"""All of Lamplighter's services on this machine, started together and stopped in order."""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from types import TracebackType
from typing import Final, Self
from urllib.parse import urlsplit

from infra.local.errors import with_tail
from infra.local.kafka.server import Kafka
from infra.local.postgres import Postgres
from infra.local.service import Service, without_password
from infra.local.valkey import Valkey
from lamplighter.adapters.postgres.migrate import migrate
from lamplighter.settings import Bus, Settings

DATABASE: Final = "lamplighter"

Say = Callable[[str], None]


class Stack:
    """The services that the settings ask for. One that is given by URL is used, never started."""

    def __init__(self, settings: Settings, *, say: Say) -> None:
        self._settings = settings
        self._say = say
        self._folder = Path(settings.data_dir)
        self.services = self._embedded()

    def start(self) -> None:
        """Start what is embedded, all at once, and bring the ledger's schema up to date."""
        _keep_out_of_git(self._folder)
        self._tell_what_is_given()
        self._start_all()
        self._migrate()

    def check(self) -> None:
        """Raise ServiceFailed when a service has ended by itself."""
        for service in self.services:
            if not service.running():
                raise with_tail(f"{service.name} has ended by itself.", service.log)

    def stop(self) -> None:
        """Stop what was started, and nothing else; the ledger, which the others lean on, last."""
        for service in reversed(self.services):
            was_running = service.running()
            service.stop()
            if was_running:
                self._say(f"  {service.name:<9} stopped")

    def _embedded(self) -> list[Service]:
        settings, folder = self._settings, self._folder
        services: list[Service] = []
        if not settings.database_url:
            services.append(Postgres(folder / Postgres.name))
        if not settings.valkey_url:
            services.append(Valkey(folder / Valkey.name))
        if settings.bus is Bus.KAFKA and not settings.kafka_bootstrap_servers:
            services.append(Kafka(folder / Kafka.name))
        return services

    def _start_all(self) -> None:
        pool = ThreadPoolExecutor(max_workers=max(1, len(self.services)))
        try:
            starting = {pool.submit(_timed_start, each): each for each in self.services}
            for started in as_completed(starting):
                self._tell(starting[started].name, started.result(), starting[started].shown_url)
        except BaseException:
            # Ctrl-C or a failure: the others need not finish their start to be stopped.
            for service in self.services:
                service.interrupt()
            raise
        finally:
            pool.shutdown(wait=True, cancel_futures=True)

    def _migrate(self) -> None:
        began = time.monotonic()
        url = self._database_url()
        applied = len(migrate(url, days_ahead=self._settings.partition_days_ahead))
        noun = "migration" if applied == 1 else "migrations"
        database = urlsplit(url).path.lstrip("/")
        what = f"{applied} {noun} applied to database {database}"
        self._tell("ledger", time.monotonic() - began, what)

    def _database_url(self) -> str:
        if self._settings.database_url:
            return self._settings.database_url
        return next(s for s in self.services if isinstance(s, Postgres)).ensure_database(DATABASE)

    def _tell_what_is_given(self) -> None:
        settings = self._settings
        kafka = settings.kafka_bootstrap_servers if settings.bus is Bus.KAFKA else None
        given = {"postgres": settings.database_url, "valkey": settings.valkey_url, "kafka": kafka}
        for name, url in given.items():
            if url:
                self._say(f"  {name:<9} given           {without_password(url)}")

    def _tell(self, name: str, seconds: float, what: str) -> None:
        self._say(f"  {name:<9} ready in {seconds:4.1f} s  {what}")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()


def _timed_start(service: Service) -> float:
    began = time.monotonic()
    service.start()
    return time.monotonic() - began


def _keep_out_of_git(folder: Path) -> None:
    """Data and passwords belong in nobody's repository."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / ".gitignore").write_text("*\n", encoding="ascii")
