"""All of Lamplighter on this machine: services, then the ledger and its topics, then components."""

import os
import socket
import time
from pathlib import Path
from types import TracebackType
from typing import Final, Self
from urllib.parse import urlsplit

import msgspec

from infra.local import lines
from infra.local.data import keep_out_of_git, make_folder
from infra.local.embedded import addressed, addresses, embedded, shown
from infra.local.errors import ServiceFailed
from infra.local.folder import FolderLock
from infra.local.lines import Say
from infra.local.part import Part
from infra.local.roster import GATEWAY, Roster, environment, members
from infra.local.service import HOST, free_port
from infra.local.state import ComponentState, ServiceState, StackState, remove_state, write_state
from infra.local.supervisor import Supervisor
from lamplighter.adapters.postgres.listing import PostgresQueryLedger
from lamplighter.adapters.postgres.migrate import migrate
from lamplighter.contracts.topics import all_topics
from lamplighter.ports.bus import Bus
from lamplighter.settings import Bus as BusKind
from lamplighter.settings import Settings
from lamplighter.stages.canary import ensure_canary
from lamplighter.stages.desk import Desk

# A stack that was killed takes this long at most to be gone.
_WAIT_SECONDS: Final = 30.0


class Stack:
    """What the settings ask for. A service that is given by URL is used, never started."""

    def __init__(self, settings: Settings, *, port: int, workers: int, say: Say) -> None:
        self._folder = Path(settings.data_dir).resolve()
        # Components work elsewhere, so what they are told is not relative.
        self._settings = msgspec.structs.replace(settings, data_dir=str(self._folder))
        self._port = port
        self._workers = workers
        self._say = say
        self._lock = FolderLock(self._folder, wait_seconds=_WAIT_SECONDS)
        self._services = embedded(self._settings, self._folder)
        self._supervisor = Supervisor(say=say, changed=self._write_state)

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self._port}"

    def start(self) -> None:
        """Everything, in the order in which one leans on the other; returns when all are ready."""
        make_folder(self._folder)
        self._lock.take()
        # A stack that was killed has left its own behind.
        remove_state(self._folder)
        self._port = _usable_port(self._port)
        keep_out_of_git(self._folder)
        for name, url in addresses(self._settings).items():
            self._say(lines.given(name, shown(url)))
        self._supervisor.start(self._services, self._tell_service)
        self._settings = addressed(self._settings, self._services)
        self._make_ledger()
        self._make_topics()
        self._make_canary()
        self._start_components()

    def look_after(self) -> None:
        """Start again what has ended by itself. To be called several times a second."""
        self._supervisor.tick()

    def stop(self) -> None:
        """Stop what was started, and nothing else; the ledger, which the others lean on, last."""
        self._supervisor.stop()
        if self._lock.descriptor >= 0:
            remove_state(self._folder)
        self._lock.release()

    def _make_ledger(self) -> None:
        began = time.monotonic()
        url = self._settings.database_url or ""
        applied = len(migrate(url, days_ahead=self._settings.partition_days_ahead))
        noun = "migration" if applied == 1 else "migrations"
        database = urlsplit(url).path.lstrip("/")
        what = f"{applied} {noun} applied to database {database}"
        self._say(lines.ready("ledger", time.monotonic() - began, what))

    def _make_topics(self) -> None:
        began = time.monotonic()
        topics = all_topics(self._settings.windows())
        bus = _bus(self._settings)
        try:
            bus.ensure_topics(topics)
        finally:
            bus.close()
        what = f"{len(topics)} on {self._settings.bus}"
        self._say(lines.ready("topics", time.monotonic() - began, what))

    def _make_canary(self) -> None:
        """Made, changed or ended, as the settings have it now."""
        ledger = PostgresQueryLedger(self._settings.database_url or "", max_size=1)
        try:
            ensure_canary(Desk(ledger=ledger, now=ledger.now), self._settings.canary_seconds)
        finally:
            ledger.close()

    def _start_components(self) -> None:
        told = environment(self._settings, os.environ)
        roster = Roster(self._folder, told=told, lock=self._lock.descriptor, port=self._port)
        crew = {each.name: each for each in members(self._settings, self._workers)}

        def tell(part: Part, seconds: float) -> None:
            what = self.url if part.name == GATEWAY else crew[part.name].does
            self._say(lines.ready(part.name, seconds, what))
            self._write_state()

        self._supervisor.start([roster.component(each) for each in crew.values()], tell)

    def _tell_service(self, part: Part, seconds: float) -> None:
        url = next(each.shown_url for each in self._services if each.name == part.name)
        self._say(lines.ready(part.name, seconds, url))

    def _write_state(self) -> None:
        keepers = {each.part.name: each for each in self._supervisor.keepers}
        urls = addresses(self._settings)
        services = [
            ServiceState(name, url, keepers[name].pid)
            if name in keepers
            else ServiceState(name, url, None, given=True)
            for name, url in urls.items()
        ]
        components = [
            ComponentState(name, each.pid, each.restarts, each.since)
            for name, each in keepers.items()
            if name not in urls
        ]
        write_state(self._folder, StackState(self.url, os.getpid(), components, services))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()


def _bus(settings: Settings) -> Bus:
    # Their drivers take a while to import, and only one of them is needed.
    if settings.bus is BusKind.KAFKA:
        from lamplighter.adapters.kafka.bus import KafkaBus
        from lamplighter.adapters.kafka.config import KafkaAccess

        return KafkaBus(KafkaAccess(settings.kafka_bootstrap_servers or ""))
    from lamplighter.adapters.streams.bus import StreamsBus

    return StreamsBus(settings.valkey_url or "")


def _usable_port(port: int) -> int:
    """The port that was asked for, if it is free; for 0, any that is."""
    if port == 0:
        return free_port()
    with socket.socket() as probe:
        # As the server does it: what a former one left in TIME_WAIT is no obstacle.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError as problem:
            raise ServiceFailed(
                f"Port {port} cannot be used: {problem.strerror}.\n"
                "Choose another with --port, or let one be chosen with --port 0."
            ) from None
    return port
