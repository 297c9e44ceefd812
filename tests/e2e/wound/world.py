"""A whole cell in one process, over real stores and a real bus, under a clock that a test winds.

The leader's sleep is where time goes by: whenever it has nothing to do, the others have their turn,
and when nobody has, the clock is wound to the next moment at which somebody will. So a day takes
seconds, and nothing is late that would not be late otherwise. `jump` is an outage instead.
"""

import time
from collections.abc import Callable
from datetime import datetime, timedelta
from heapq import heappop, heappush
from itertools import count
from pathlib import Path
from typing import Final

import msgspec

from infra.local.kafka.server import Kafka
from infra.local.postgres import Postgres
from infra.local.valkey import Valkey
from lamplighter.adapters.kafka.bus import KafkaBus
from lamplighter.adapters.kafka.config import KafkaAccess
from lamplighter.adapters.postgres.database import Database
from lamplighter.adapters.postgres.history import PostgresHistory
from lamplighter.adapters.postgres.listing import PostgresQueryLedger
from lamplighter.adapters.streams.bus import StreamsBus
from lamplighter.adapters.valkey.cache import ValkeyCache
from lamplighter.adapters.valkey.client import Client
from lamplighter.adapters.valkey.queue import ValkeyQueue
from lamplighter.contracts.topics import all_topics
from lamplighter.domain.ids import fire_of, first_run_id
from lamplighter.ports.bus import Bus
from lamplighter.stages.capacity import Window
from lamplighter.stages.desk import Desk
from lamplighter.stages.news import tell
from lamplighter.stages.verify import Report, verify
from lamplighter.stages.watch import Rhythm, Watcher
from tests.e2e.wound.clock import WoundClock, new_ledger
from tests.e2e.wound.counted import CountedBus
from tests.e2e.wound.front import Front
from tests.e2e.wound.staff import POOLS, Staff

PATIENCE: Final = 30.0
LONGEST_STEP: Final = timedelta(hours=1)
# A leader plans and loads what is due in five minutes, every 20 s.
AHEAD: Final = timedelta(minutes=3)
PLANS_EVERY: Final = timedelta(seconds=10)
A_MOMENT: Final = timedelta(milliseconds=1)
# Housekeeping waits in a thread of its own, whose hours nobody winds.
OFTEN: Final = Rhythm(sweep=0.2, settle=0.2, follow_up=0.2, health=1.0, tend=2.0)
_PARTITIONS: Final = 3
_names = count(1)


class Hourglass(ValkeyQueue):
    """The queue, with a leader's sleep in which the clock is wound."""

    def __init__(self, client: Client, pass_time: Callable[[float], bool]) -> None:
        super().__init__(client)
        self._pass_time = pass_time

    def sleep(self, seconds: float) -> bool:
        return self._pass_time(seconds)


class World(Front):
    def __init__(self, database_url: str, valkey_url: str, bus: Bus, folder: Path) -> None:
        self.clock = WoundClock(database_url)
        self.born = self._walk_to = self.clock.now()
        self._database = Database(database_url, max_size=1)
        self._client = Client(valkey_url)
        self._client.store.flushdb()
        self.queue = Hourglass(self._client, self._pass_time)
        self.bus = CountedBus(bus)
        few = [msgspec.structs.replace(each, partitions=_PARTITIONS) for each in all_topics(POOLS)]
        self.bus.ensure_topics(few)
        ledger, cache = PostgresQueryLedger(database_url), ValkeyCache(self._client)
        self._staff = Staff(self.clock, ledger, self.queue, self.bus, cache)
        self._staff.hire(folder)
        super().__init__(ledger, self._desk(ledger))
        self._agenda: list[tuple[datetime, int, Callable[[], object]]] = []
        self._numbers = count(1)
        self._wound_at = time.monotonic()

    def _desk(self, ledger: PostgresQueryLedger) -> Desk:
        return Desk(
            ledger=ledger,
            now=self.clock.now,
            hint=self.queue.add,
            announce=lambda news: _done(tell(self.bus, news)),
            stop_running=lambda run_ids: _done(self._staff.runner.cancel(run_ids)),
        )

    @property
    def now(self) -> datetime:
        return self.clock.now()

    def jump(self, **span: float) -> None:
        """An outage of so long: nobody watches, works or records."""
        self.clock.jump(timedelta(**span))

    def walk(self, until: datetime | None = None, **span: float) -> None:
        """Let time go by, with everybody at work, and stop when nothing is on its way."""
        self._walk_to = until or self.now + timedelta(**span)
        window = Window(self.bus, {"default": 5_000, "tasks": 500})
        watcher = Watcher(
            self.ledger,
            self.queue,
            self.bus,
            holder=f"watcher-{next(self._numbers)}",
            window=window,
            rhythm=OFTEN,
            retention=timedelta(days=90),
            steady=self.clock.steady,
        )
        self._wound_at = time.monotonic()
        report = watcher.watch((self._walk_to - self.now).total_seconds())
        # On a machine that is busy, a turn of everybody else may take longer than a lease lasts.
        assert report.errors.keys() <= {"LeaseLost"}, report
        while self._staff.turn():
            assert time.monotonic() < self._wound_at + PATIENCE, f"nothing ends at {self.now}"

    def at(self, moment: datetime, act: Callable[[], object]) -> None:
        """Do this while time goes by."""
        heappush(self._agenda, (moment, next(self._numbers), act))

    def _pass_time(self, seconds: float) -> bool:
        """The leader wants to sleep for so long. Whether somebody has something for it."""
        assert time.monotonic() < self._wound_at + PATIENCE, f"nothing moves at {self.now}"
        if self._staff.turn() or self._act():
            return True
        now = self.now
        ahead = min(self._moments(now)) - now
        if ahead > timedelta():
            self.clock.step(ahead + A_MOMENT)
            self._wound_at = time.monotonic()
            return False
        # Something is due, and the leader has not come to it yet, or its housekeeping has not.
        time.sleep(min(seconds, 0.005))
        self.clock.step(timedelta(seconds=min(seconds, 0.2)))
        return True

    def _moments(self, now: datetime) -> list[datetime]:
        """When somebody will have something to do."""
        agenda, loaded_to = self.ledger.agenda(), self.ledger.cursor().loaded_to
        known = [self.queue.next_due(), agenda.wake_at, *self._staff.asleep()]
        # What is not in the queue yet is planned and loaded before its time.
        far = self.ledger.page(first_run_id(loaded_to), now + LONGEST_STEP, 1)
        fires = [agenda.fire_at, *(fire_of(each.run_id) for each in far)]
        known += [max(fire - AHEAD, now + PLANS_EVERY) for fire in fires if fire]
        acts = [self._agenda[0][0]] if self._agenda else []
        return [self._walk_to, now + LONGEST_STEP, *acts, *(each for each in known if each)]

    def _act(self) -> bool:
        if not self._agenda or self._agenda[0][0] > self.now:
            return False
        heappop(self._agenda)[2]()
        return True

    def verify(self) -> Report:
        """The checker finds nothing in anything that ever happened here."""
        report = PostgresHistory(self._database).read(
            lambda history: verify(history, self.born - timedelta(days=1), self.now)
        )
        assert report.findings == [], report.findings[:5]
        return report

    def close(self) -> None:
        self._staff.close()
        self.bus.close()
        self.ledger.close()
        self._database.close()
        self._client.close()
        self.clock.close()


def _done(_: object) -> None:
    """What was answered is of no interest."""


class Worlds:
    """Makes them: each with a database of its own, and a store that held nothing."""

    def __init__(
        self, postgres: Postgres, valkey: Valkey, kafka: Callable[[], Kafka], folder: Path
    ) -> None:
        self._postgres, self._kafka, self._folder = postgres, kafka, folder
        self._valkey_url = valkey.url.removesuffix("0")
        self._made: list[World] = []

    def __call__(self, start: datetime, bus: str = "streams") -> World:
        name = f"wound_{next(_names)}"
        url = self._postgres.ensure_database(name)
        new_ledger(url, name, start)
        # Not the database that other tests use.
        valkey_url = f"{self._valkey_url}{1 + len(self._made) % 15}"
        over = self._kafka_bus() if bus == "kafka" else StreamsBus(valkey_url)
        world = World(url, valkey_url, over, self._folder / name)
        self._made.append(world)
        return world

    def _kafka_bus(self) -> Bus:
        return KafkaBus(KafkaAccess(self._kafka().url))

    def close(self) -> None:
        for world in self._made:
            world.close()
