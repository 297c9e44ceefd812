"""A whole cell in one process, over real stores and a real bus, under a clock that a test winds.

The leader's sleep is where time goes by: whenever it has nothing to do, the others have their turn,
and when nobody has, the clock is wound to the next moment at which somebody will. So a day takes
seconds, and nothing is late that would not be late otherwise. `jump` is an outage instead.
"""

import json
import time
from collections.abc import Callable
from datetime import datetime, timedelta
from heapq import heappop, heappush
from itertools import count
from pathlib import Path
from typing import Any, Final
from uuid import UUID

import msgspec

from functions.query.handler import api as query_api
from functions.submit.handler import api as submit_api
from infra.local.kafka.server import Kafka
from infra.local.postgres import Postgres
from infra.local.valkey import Valkey
from lamplighter.adapters.kafka.bus import KafkaBus
from lamplighter.adapters.kafka.config import KafkaAccess
from lamplighter.adapters.logs.folder import FolderLogs
from lamplighter.adapters.postgres.database import Database
from lamplighter.adapters.postgres.history import PostgresHistory
from lamplighter.adapters.postgres.listing import PostgresQueryLedger
from lamplighter.adapters.streams.bus import StreamsBus
from lamplighter.adapters.targets.python.handlers import Handler, Handlers
from lamplighter.adapters.targets.registry import ECHO, Registry, all_targets
from lamplighter.adapters.targets.secrets import FolderSecrets
from lamplighter.adapters.valkey.cache import ValkeyCache
from lamplighter.adapters.valkey.client import Client
from lamplighter.adapters.valkey.queue import ValkeyQueue
from lamplighter.contracts.messages import read_dependency, read_run
from lamplighter.contracts.topics import (
    DEPENDENCY_EVENTS,
    JOB_EVENTS,
    WORKER_EVENTS,
    all_topics,
    job_runs_topics,
)
from lamplighter.domain.ids import fire_of, first_run_id
from lamplighter.domain.run import Run
from lamplighter.ports.bus import Bus
from lamplighter.ports.target import Context
from lamplighter.stages.capacity import Window, executor_group
from lamplighter.stages.desk import Desk
from lamplighter.stages.execute import Executor
from lamplighter.stages.news import tell
from lamplighter.stages.record import Recorder
from lamplighter.stages.report import Reporter
from lamplighter.stages.resolve import resolve
from lamplighter.stages.run import Runner
from lamplighter.stages.verify import Report, verify
from lamplighter.stages.watch import Rhythm, Watcher
from lamplighter.stages.work import Doubts, Work
from tests.e2e.wound.clock import WoundClock, new_ledger
from tests.e2e.wound.counted import CountedBus, Reader

PATIENCE: Final = 30.0
LONGEST_STEP: Final = timedelta(hours=1)
# A leader plans and loads what is due in five minutes, every 20 s.
AHEAD: Final = timedelta(minutes=3)
PLANS_EVERY: Final = timedelta(seconds=10)
A_MOMENT: Final = timedelta(milliseconds=1)
SLOW: Final = "wound.sleep"
# Housekeeping waits in a thread of its own, whose hours nobody winds.
OFTEN: Final = Rhythm(sweep=0.2, settle=0.2, follow_up=0.2, health=1.0, tend=2.0)
_PARTITIONS: Final = 3
_names = count(1)


class Slow(Handlers):
    """And one that takes `{"seconds": …}` of the clock that is wound."""

    def __init__(self, clock: WoundClock) -> None:
        super().__init__()
        self._clock = clock
        self.ends: dict[UUID, datetime] = {}

    def find(self, name: str) -> Handler:
        return Handler(self._sleep) if name == SLOW else super().find(name)

    def _sleep(self, payload: Any, context: Context) -> None:
        end = context.run.due_at + timedelta(seconds=payload["seconds"])
        self.ends[context.run.run_id] = end
        try:
            while self._clock.now() < end:
                context.sleep(0.002)
        finally:
            del self.ends[context.run.run_id]

    def asleep(self) -> list[datetime]:
        """When those that sleep for a while yet will wake."""
        now = self._clock.now()
        return [end for end in list(self.ends.values()) if end > now]


class Hourglass(ValkeyQueue):
    """The queue, with a leader's sleep in which the clock is wound."""

    def __init__(self, client: Client, pass_time: Callable[[float], bool]) -> None:
        super().__init__(client)
        self._pass_time = pass_time

    def sleep(self, seconds: float) -> bool:
        return self._pass_time(seconds)


class World:
    """`begin` makes a moment the one that a test's minutes are counted from."""

    def __init__(self, database_url: str, valkey_url: str, bus: Bus, folder: Path) -> None:
        self.clock = WoundClock(database_url)
        self.born = self._began = self.now
        self.ledger = PostgresQueryLedger(database_url)
        self._database = Database(database_url, max_size=1)
        self._client = Client(valkey_url)
        self._client.store.flushdb()
        self.queue = Hourglass(self._client, self._pass_time)
        self._build(bus, folder)
        self._agenda: list[tuple[datetime, int, Callable[[], object]]] = []
        self._walk_to = self.born
        self._wound_at = time.monotonic()
        self._watchers = count(1)
        self._submitted: list[str] = []

    def _build(self, bus: Bus, folder: Path) -> None:
        self.bus = CountedBus(bus)
        topics = all_topics(["default", "tasks"])
        self.bus.ensure_topics(
            [msgspec.structs.replace(each, partitions=_PARTITIONS) for each in topics]
        )
        self._runs, self._tasks = (self._reader_of(pool) for pool in ("default", "tasks"))
        self._events = Reader(self.bus, "recorder", [JOB_EVENTS.name, WORKER_EVENTS.name])
        self._endings = Reader(self.bus, "resolver", [DEPENDENCY_EVENTS.name])
        self._slow = Slow(self.clock)
        registry = Registry(all_targets(handlers=self._slow), ECHO)
        runner = Runner(registry, FolderLogs(folder / "logs"), FolderSecrets(folder / "secrets"))
        self.recorder = Recorder(self.ledger, self.bus, ValkeyCache(self._client))
        now, doubts = self.clock.now, Doubts()
        reporter = Reporter(self.ledger, self.bus, now=now, recorder=self.recorder)

        def work() -> Work:
            return Work(self.ledger, reporter, runner, worker_id="worker", now=now, doubts=doubts)

        self.executor = Executor(runner, work)
        self._runner, self._long = runner, work()
        self.desk = Desk(
            ledger=self.ledger,
            now=now,
            hint=self.queue.add,
            announce=lambda news: _done(tell(self.bus, news)),
            stop_running=lambda run_ids: _done(runner.cancel(run_ids)),
        )

    def _reader_of(self, pool: str) -> Reader:
        return Reader(self.bus, executor_group(pool), [t.name for t in job_runs_topics(pool)])

    # Time

    @property
    def now(self) -> datetime:
        return self.clock.now()

    def begin(self) -> None:
        self._began = self.now

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
            holder=f"watcher-{next(self._watchers)}",
            window=window,
            rhythm=OFTEN,
            retention=timedelta(days=90),
            steady=self.clock.steady,
        )
        self._wound_at = time.monotonic()
        report = watcher.watch((self._walk_to - self.now).total_seconds())
        # On a machine that is busy, a turn of everybody else may take longer than a lease lasts.
        assert report.errors.keys() <= {"LeaseLost"}, report
        while self._turn():
            assert time.monotonic() < self._wound_at + PATIENCE, f"nothing ends at {self.now}"

    def at(self, moment: datetime, act: Callable[[], object]) -> None:
        """Do this while time goes by."""
        heappush(self._agenda, (moment, len(self._agenda), act))

    def _pass_time(self, seconds: float) -> bool:
        """The leader wants to sleep for so long. Whether somebody has something for it."""
        assert time.monotonic() < self._wound_at + PATIENCE, f"nothing moves at {self.now}"
        if self._turn() or self._act():
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
        known = [self.queue.next_due(), agenda.wake_at, *self._slow.asleep()]
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

    def _turn(self) -> bool:
        """One turn of executor, worker, recorder and resolver. Whether anything is on its way."""
        self._execute()
        self._attend()
        events = self._events.poll()
        assert self.recorder.handle(events) == []
        self._events.commit(events)
        endings = self._endings.poll()
        resolve(self.ledger, self.queue, [read_dependency(e.value) for e in endings], self.bus)
        self._endings.commit(endings)
        readers = (self._runs, self._tasks, self._events, self._endings)
        is_awake = self._long.open > len(self._slow.asleep())
        return is_awake or any(reader.waiting > 0 for reader in readers)

    def _execute(self) -> None:
        if records := self._runs.poll():
            done = self.executor.execute([read_run(each.value) for each in records])
            assert done.left == []
            self._runs.commit(records)

    def _attend(self) -> None:
        """What `stages/attend.py` does in two threads."""
        if records := self._tasks.poll():
            messages = [read_run(each.value) for each in records]
            self._long.begin(messages, lambda: self._tasks.commit(records))
        # Those whose run is to stop hear of it with their heartbeat.
        if self._slow.ends:
            self._runner.cancel(self.ledger.heartbeat("worker", "tasks", 32))
        if self._long.open > len(self._slow.asleep()):
            self._long.report(0.01)

    # What people do

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        event = {
            "rawPath": path.partition("?")[0],
            "requestContext": {"http": {"method": method, "path": path}},
            "headers": {"content-type": "application/json"},
            "queryStringParameters": dict(
                pair.split("=") for pair in path.partition("?")[2].split("&") if pair
            ),
            "body": None if body is None else json.dumps(body),
        }
        api = query_api if method == "GET" or "preview" in path else submit_api
        answer = api.answer(event, lambda: self.desk)
        assert answer["statusCode"] < 300, answer
        return json.loads(answer["body"] or "null")

    def submit(self, **body: Any) -> str:
        target = {"type": "python", "handler": "builtin.noop"}
        answer = self.ask("POST", "/jobs", {"name": "a job", "target": target, **body})
        self._submitted.append(str(answer["job_id"]))
        return self._submitted[-1]

    def runs(self, job_id: str) -> list[Run]:
        """Oldest fire first."""
        found: list[Run] = self.ledger.runs("default", UUID(job_id), 100_000)
        return sorted(found, key=lambda run: run.run_id)

    def told(self, job_id: str) -> list[str]:
        """What became of each fire, in minutes since the test began."""
        return [self._line(run) for run in self.runs(job_id)]

    def _line(self, run: Run) -> str:
        ending = f"{run.state.name} {run.reason.name.lower()}" if run.reason else run.state.name
        if run.missed_to is None:
            return f"+{self._minute(run.fire_at)} {ending}"
        missed = f"+{self._minute(run.fire_at)} to +{self._minute(run.missed_to)}"
        return f"{missed}: {run.missed_count} {ending}"

    def _minute(self, moment: datetime) -> int:
        return round((moment - self._began).total_seconds() / 60)

    def cancel_all(self) -> None:
        """Nothing of this test fires in the next one."""
        for job_id in self._submitted:
            self.ask("DELETE", f"/jobs/{job_id}")
        self._submitted.clear()

    def preview(self, after: datetime, until: datetime, **schedule: Any) -> list[datetime]:
        asked = {"after": after.isoformat(), "until": until.isoformat(), "count": 1000}
        answer = self.ask("POST", "/schedules/preview", {**schedule, **asked})
        return [datetime.fromisoformat(fire) for fire in answer["fires"]]

    # At the end

    def verify(self) -> Report:
        """The checker finds nothing in anything that ever happened here."""
        report = PostgresHistory(self._database).read(
            lambda history: verify(history, self.born - timedelta(days=1), self.now)
        )
        assert report.findings == [], report.findings[:5]
        return report

    def close(self) -> None:
        for reader in (self._runs, self._tasks, self._events, self._endings):
            reader.close()
        self._runner.close()
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
        made = (
            KafkaBus(KafkaAccess(self._kafka().url)) if bus == "kafka" else StreamsBus(valkey_url)
        )
        world = World(url, valkey_url, made, self._folder / name)
        self._made.append(world)
        return world

    def _kafka_bus(self) -> Bus:
        return KafkaBus(KafkaAccess(self._kafka().url))

    def close(self) -> None:
        for world in self._made:
            world.close()
