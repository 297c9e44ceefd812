"""Every size, version, limit and number of a deployment, in one place per profile.

`small` rests at almost nothing, `standard` keeps the promise of two seconds, `large` carries
hundreds of millions of runs a day. What decides a size, a price or a promise is here. Below
`constructs/` are what AWS fixes, ports and masks, and how long an alarm or a scaling looks before
it acts: those are the same in every profile.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from lamplighter.domain.job import DEFAULT_POOL

TASKS_POOL: Final = "tasks"


@dataclass(frozen=True)
class Database:
    """Aurora PostgreSQL Serverless v2. It pauses only at 0 ACU, and with no connection open."""

    version: str = "17.9"
    least_acu: float = 0.5
    most_acu: float = 16
    pause_after_seconds: int | None = None
    readers: int = 1
    io_optimized: bool = False
    backup_days: int = 14


@dataclass(frozen=True)
class Cache:
    """Valkey: serverless up to these limits, or nodes of a type, one of them primary."""

    version: str = "8"
    most_gigabytes: int = 5
    most_ecpu: int = 15_000
    node_type: str | None = None
    nodes: int = 3
    snapshots: int = 1


@dataclass(frozen=True)
class Broker:
    """MSK. `.kraft` is what makes it one without ZooKeeper; no linter notices its absence."""

    version: str = "3.9.x.kraft"
    instance_type: str = "kafka.m7g.large"
    brokers: int = 3
    # Of each broker's own disk; Express brokers have none to choose.
    volume_gigabytes: int | None = 100

    @property
    def express(self) -> bool:
        return self.instance_type.startswith("express.")


@dataclass(frozen=True)
class Function:
    """`connections` to the database per execution environment; a request needs one."""

    memory: int = 512
    timeout: int = 60
    connections: int = 2


@dataclass(frozen=True)
class Reading:
    """How a mapping reads. `window` is in whole seconds; `retries` of one batch, then set aside."""

    batch: int
    window: int
    retries: int
    # Kafka: pollers; each has 5 invocations under way at most, so 4 are enough for 20 partitions.
    least_pollers: int = 1
    most_pollers: int = 4
    # SQS: invocations at once, 2 or more.
    most_invocations: int = 5


@dataclass(frozen=True)
class Tasks:
    """The Fargate service of the pool `tasks`: one task for every `per_task` runs that wait."""

    cpu: int = 512
    memory: int = 1024
    at_rest: int = 10
    most: int = 100
    per_task: int = 5_000
    places: int = 8
    connections: int = 4
    longest_seconds: int = 86_400
    # In a public subnet, without a way in: its image needs no endpoints, which cost by the hour.
    public: bool = False


@dataclass(frozen=True)
class Network:
    cidr: str = "10.42.0.0/16"
    endpoint_zones: int = 3
    # Secrets of targets and webhooks; an endpoint that the smallest deployment has only if asked.
    secrets: bool = True


@dataclass(frozen=True)
class Api:
    """`rate` requests a second, `burst` at once; what is above gets 429.

    No more than an account has, which is 10,000 and 5,000: AWS lets no stage go beyond.
    """

    rate: int = 2_000
    burst: int = 4_000
    keys_cached_seconds: int = 60


@dataclass(frozen=True)
class Alarms:
    """What is worth waking somebody for."""

    lateness_ms: int = 2_000
    oldest_due_seconds: int = 60
    queue_depth: int = 100_000
    failure_percent: int = 20
    failure_least_runs: int = 20
    # Kafka: messages that are not read yet, for three minutes. One of `job-events` is a bundle, of
    # up to some hundred events where much happens, and of one or two where little does.
    lag: int = 2_000
    dependency_lag: int = 10_000
    # What is written nowhere else yet: any at all, if it is there for so long.
    request_minutes: int = 10
    # SQS: of the oldest message, for whichever topic.
    message_age_seconds: int = 600
    leader_changes: int = 20
    disk_percent: int = 80
    acu_percent: int = 90
    server_errors: int = 20
    function_errors: int = 5


def _functions(**changes: Function) -> dict[str, Function]:
    """Timeouts: API Gateway waits 30 s, and the watcher outlives its tick.

    An executor's longest run is 300 s, and it has a while to start it; the courier waits as long.
    """
    return {
        "submit": Function(1024, 29),
        "query": Function(1024, 29),
        "authorizer": Function(512, 10, connections=1),
        "watcher": Function(1024, 120, connections=4),
        "executor": Function(1769, 420, connections=4),
        "recorder": Function(1769, 120, connections=2),
        "resolver": Function(1024, 60, connections=2),
        "courier": Function(512, 330),
        "migrate": Function(512, 900, connections=2),
    } | changes


def _readings() -> dict[str, Reading]:
    """Per function; an outage of the ledger counts as a failure of every batch.

    `job-requests` apart: it holds what is written nowhere else, so it is tried the most.
    """
    return {
        "executor": Reading(batch=500, window=0, retries=10),
        "recorder": Reading(batch=1_000, window=1, retries=1_000),
        "resolver": Reading(batch=500, window=0, retries=1_000, most_pollers=2),
        "job-requests": Reading(batch=500, window=0, retries=10_000, most_pollers=2),
    }


@dataclass(frozen=True)
class Profile:
    name: str
    database: Database = Database()
    cache: Cache = Cache()
    # None: SQS carries the messages.
    broker: Broker | None = Broker()
    functions: Mapping[str, Function] = field(default_factory=_functions)
    readings: Mapping[str, Reading] = field(default_factory=_readings)
    tasks: Tasks = Tasks()
    network: Network = Network()
    api: Api = Api()
    alarms: Alarms = Alarms()
    # Runs on the bus at once, per pool.
    windows: Mapping[str, int] = field(
        default_factory=lambda: {DEFAULT_POOL: 10_000, TASKS_POOL: 800}
    )
    longest_seconds: int = 300
    places: int = 32
    # The watcher asks Valkey first, so that the database can sleep.
    thrifty: bool = False
    watch_seconds: int = 75
    canary_seconds: int = 60
    # Of so many runs one is traced; 0 is none, and no endpoint for it.
    trace_one_in: int = 100
    log_days: int = 30
    ledger_days: int = 30
    # Deleting the stack fails until this is taken off, by design.
    protected: bool = True


SMALL: Final = Profile(
    "small",
    database=Database(least_acu=0, most_acu=4, pause_after_seconds=300, readers=0, backup_days=7),
    cache=Cache(most_gigabytes=1, most_ecpu=5_000, snapshots=0),
    broker=None,
    # SQS: a batch of at most 10 comes without a window.
    readings={
        "executor": Reading(batch=10, window=0, retries=0),
        "recorder": Reading(batch=10, window=0, retries=0),
        "resolver": Reading(batch=10, window=0, retries=0, most_invocations=2),
        "job-requests": Reading(batch=10, window=0, retries=0, most_invocations=2),
    },
    functions=_functions(
        submit=Function(512, 29),
        query=Function(512, 29),
        # Whoever asks it for a key waits for a database that has to wake.
        authorizer=Function(512, 45, connections=1),
        watcher=Function(512, 120, connections=4),
        executor=Function(1024, 420, connections=2),
        recorder=Function(512, 60),
        resolver=Function(512, 60),
    ),
    tasks=Tasks(cpu=256, memory=512, at_rest=0, most=10, public=True),
    network=Network(endpoint_zones=1, secrets=False),
    api=Api(rate=100, burst=200, keys_cached_seconds=300),
    # A database that sleeps takes half a minute to wake: excepted from the two seconds.
    alarms=Alarms(
        lateness_ms=60_000, oldest_due_seconds=300, queue_depth=10_000, function_errors=3
    ),
    windows={DEFAULT_POOL: 1_000, TASKS_POOL: 64},
    thrifty=True,
    canary_seconds=3_600,
    trace_one_in=0,
    log_days=14,
    protected=False,
)

STANDARD: Final = Profile("standard", database=Database(least_acu=1, most_acu=32))

LARGE: Final = Profile(
    "large",
    database=Database(least_acu=8, most_acu=128, readers=1, io_optimized=True, backup_days=35),
    cache=Cache(version="8.1", node_type="cache.r7g.xlarge", nodes=3, snapshots=7),
    broker=Broker(instance_type="express.m7g.large", brokers=3, volume_gigabytes=None),
    tasks=Tasks(cpu=1024, memory=2048),
    api=Api(rate=5_000, burst=5_000),
    windows={DEFAULT_POOL: 10_000, TASKS_POOL: 3_200},
    trace_one_in=10_000,
)

PROFILES: Final[Mapping[str, Profile]] = {each.name: each for each in (SMALL, STANDARD, LARGE)}


def with_tasks_at_rest(profile: Profile, at_rest: int) -> Profile:
    return replace(profile, tasks=replace(profile.tasks, at_rest=at_rest))
