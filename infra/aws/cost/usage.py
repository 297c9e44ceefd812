"""How much of everything a month takes: from a profile's sizes, a load, and what is assumed."""

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from infra.aws.constructs.network import endpoints
from infra.aws.constructs.readers import READERS
from infra.aws.cost.assumed import ASSUMED, Assumed
from infra.aws.cost.prices import DAYS, HOURS, MINUTES, PRICES
from infra.aws.options import Options
from infra.aws.profiles import TASKS_POOL, Function, Profile
from infra.local.mapping import mapped
from lamplighter.domain.job import DEFAULT_POOL
from lamplighter.domain.policy import JobClass
from lamplighter.stages.thrift import LEAD, LONGEST_REST
from lamplighter.telemetry.metrics import METRICS

SINGLE: Final = "single"
BULK: Final = "bulk"
RECURRING: Final = "recurring"
# AWS's: a unit has so many pollers, and a poller so many calls at once.
_POLLERS_PER_UNIT: Final = 10
_CALLS_PER_POLLER: Final = 5
_LEAST_VALKEY_GB: Final = 0.1
_GB: Final = 1e9

# Of each price's unit, so much a month.
Usage = Mapping[str, float]


@dataclass(frozen=True)
class Load:
    """Runs a day, within so many hours of it, and how they were submitted."""

    runs_a_day: float = 0.0
    submission: str = BULK
    hours_a_day: float = 24.0

    @property
    def rate(self) -> float:
        """A second, while there are any."""
        return self.runs_a_day / (self.hours_a_day * 3600)

    @property
    def runs(self) -> float:
        """A month."""
        return self.runs_a_day * DAYS


NOTHING: Final = Load(hours_a_day=0.0001)


def dollars(usage: Usage) -> float:
    return sum(PRICES[name].of(quantity) for name, quantity in usage.items())


def month(profile: Profile, load: Load, assumed: Assumed = ASSUMED) -> Usage:
    """Standing and moving parts, in as many cells as the load takes."""
    cells = how_many_cells(profile, load, assumed)
    share = Load(load.runs_a_day / cells, load.submission, load.hours_a_day)
    found: Counter[str] = Counter()
    for part in (_standing(profile, assumed), _moving(profile, share, assumed)):
        found.update(part)
    return {name: quantity * cells for name, quantity in found.items() if quantity}


def at_rest(profile: Profile, assumed: Assumed = ASSUMED) -> Usage:
    """With nothing but the scheduler's own canary."""
    return month(profile, NOTHING, assumed)


def how_many_cells(profile: Profile, load: Load, assumed: Assumed = ASSUMED) -> int:
    """By the design's limit, and by what the profile lets the database grow to."""
    most = min(assumed.runs_per_second_and_cell, profile.database.most_acu * assumed.runs_per_acu)
    return max(1, math.ceil(load.rate / most))


def too_many_requests(profile: Profile, load: Load, assumed: Assumed = ASSUMED) -> bool:
    """More single submissions a second than the API lets in."""
    each = load.rate / how_many_cells(profile, load, assumed)
    return load.submission == SINGLE and each > profile.api.rate


def alarm_metrics(profile: Profile) -> int:
    """AWS counts the metrics that alarms look at. With IAM there is no authorizer to watch."""
    functions = len(profile.functions) - 1
    broker = profile.broker
    disks = broker.brokers if broker and not broker.express else 0
    # 11 of one metric, a failure rate of two, errors and throttles of each function, and the
    # scaling's own, up and down.
    return 11 + 2 + 2 * functions + disks + 2


def series(pools: int, classes: int) -> int:
    """Metrics by all their dimensions, and each once for the cell."""
    size = {"Pool": pools, "Class": classes}
    return sum(
        1 + (math.prod(size[name] for name in metric.by) if metric.by else 0) for metric in METRICS
    )


def mappings() -> int:
    return sum(len(mapped(function, DEFAULT_POOL).topics) for function in READERS)


def awake_hours(profile: Profile, load: Load) -> float:
    """A thrifty cell wakes for a load, and for a look at least every hour; others never sleep."""
    pause = profile.database.pause_after_seconds
    if not profile.thrifty or pause is None:
        return HOURS
    busy = min(24.0, load.hours_a_day) / 24 * HOURS
    every = min(profile.canary_seconds or math.inf, LONGEST_REST.total_seconds())
    awake = min(1.0, (LEAD.total_seconds() + pause) / every)
    return busy + (HOURS - busy) * awake


def _standing(profile: Profile, assumed: Assumed) -> Usage:
    """Paid whether anything runs or not."""
    network, tasks = profile.network, profile.tasks
    return {
        "endpoints": len(endpoints(Options(profile))) * network.endpoint_zones * HOURS,
        "fargate_cpu": tasks.at_rest * tasks.cpu / 1024 * HOURS,
        "fargate_gb": tasks.at_rest * tasks.memory / 1024 * HOURS,
        "alarms": alarm_metrics(profile),
        "dashboards": 1,
        "key": 1,
        "secret": 1,
        **_bus_at_rest(profile, assumed),
        **_nodes(profile),
    }


def _bus_at_rest(profile: Profile, assumed: Assumed) -> Usage:
    broker = profile.broker
    if broker is None:
        return {"sqs": mappings() * assumed.sqs_receives_per_queue_and_minute * MINUTES / 1e6}
    return {
        broker.instance_type: broker.brokers * HOURS,
        "broker_gb": broker.brokers * (broker.volume_gigabytes or 0),
    }


def _nodes(profile: Profile) -> Usage:
    cache = profile.cache
    return {cache.node_type: cache.nodes * HOURS} if cache.node_type else {}


def _moving(profile: Profile, load: Load, assumed: Assumed) -> Usage:
    """What follows the load, down to none of it."""
    found: Counter[str] = Counter()
    for part in (
        _database(profile, load, assumed),
        _cache(profile, load, assumed),
        _bus(profile, load, assumed),
        _functions(profile, load, assumed),
        _around(profile, load, assumed),
    ):
        found.update(part)
    return found


def _database(profile: Profile, load: Load, assumed: Assumed) -> Usage:
    """A reader is as large as the writer, since it may have to take over."""
    size = profile.database
    suffix = "_io" if size.io_optimized else ""
    floor = size.least_acu or assumed.awake_acu
    wanted = max(floor, load.rate / assumed.runs_per_acu) if load.runs_a_day else floor
    kept = load.runs_a_day * profile.ledger_days * assumed.bytes_kept_per_run / _GB
    return {
        f"acu{suffix}": awake_hours(profile, load) * wanted * (1 + size.readers),
        f"ledger_gb{suffix}": 1 + kept,
        "ledger_io": 0.0 if size.io_optimized else load.runs * assumed.ios_per_run / 1e6,
    }


def _cache(profile: Profile, load: Load, assumed: Assumed) -> Usage:
    if profile.cache.node_type:
        return {}
    waiting = load.rate * assumed.horizon_seconds * assumed.valkey_bytes_per_run / _GB
    ticks = awake_hours(profile, load) * 3600 * assumed.ecpu_per_second_awake
    return {
        "valkey_gb": max(_LEAST_VALKEY_GB, waiting) * HOURS,
        "valkey_ecpu": (load.runs * assumed.ecpu_per_run + ticks) / 1e6,
    }


def _bus(profile: Profile, load: Load, assumed: Assumed) -> Usage:
    broker = profile.broker
    messages = load.runs * assumed.messages_per_run
    if broker is None:
        # Sent, received, deleted; up to ten at a time.
        return {"sqs": 3 * messages / executor_batch(profile, load, assumed) / 1e6}
    written = messages * assumed.message_bytes / _GB
    kept = written / DAYS * 3 if broker.express else 0.0
    return {
        "pollers": math.ceil(_pollers(profile, load, assumed) / _POLLERS_PER_UNIT) * HOURS,
        "express_in": written if broker.express else 0.0,
        "broker_gb": kept,
        "logs": broker.brokers * assumed.broker_log_gb,
    }


def _pollers(profile: Profile, load: Load, assumed: Assumed) -> int:
    """One for each mapping, and more where one mapping has many calls at once."""
    calls = load.rate / executor_batch(profile, load, assumed)
    at_once = calls * _execute_seconds(profile, load, assumed)
    busy = min(profile.readings["executor"].most_pollers, math.ceil(at_once / _CALLS_PER_POLLER))
    return mappings() - 1 + max(1, busy)


def executor_batch(profile: Profile, load: Load, assumed: Assumed = ASSUMED) -> float:
    """What gathers while the calls before are under way; all of it in one class."""
    reading = profile.readings["executor"]
    at_once = (
        reading.most_invocations
        if profile.broker is None
        else reading.most_pollers * _CALLS_PER_POLLER
    )
    return min(reading.batch, max(1.0, load.rate * assumed.execute_seconds / at_once))


def _execute_seconds(profile: Profile, load: Load, assumed: Assumed) -> float:
    batch = executor_batch(profile, load, assumed)
    return assumed.execute_seconds + batch * assumed.execute_seconds_per_run


def _recorder_batch(profile: Profile, load: Load, assumed: Assumed) -> float:
    reading = profile.readings["recorder"]
    gathers = max(float(reading.window), assumed.record_seconds)
    events = load.rate * (assumed.messages_per_run - 1)
    return min(reading.batch, max(1.0, events * gathers))


@dataclass(frozen=True)
class _Calls:
    """Of one function, in a month."""

    number: float
    seconds: float
    size: Function

    @property
    def gb_seconds(self) -> float:
        return self.number * self.seconds * self.size.memory / 1024


def _functions(profile: Profile, load: Load, assumed: Assumed) -> Usage:
    calls = [*_watching(profile, load, assumed), *_running(profile, load, assumed)]
    requests = _requests(load, assumed)
    bytes_ = sum(each.number for each in calls) * assumed.log_bytes_per_call
    bytes_ += requests * assumed.log_bytes_per_request + load.runs * assumed.log_bytes_per_run
    return {
        "lambda_time": sum(each.gb_seconds for each in calls),
        "lambda_calls": sum(each.number for each in calls) / 1e6,
        "http": requests / 1e6,
        "logs": bytes_ / _GB,
    }


def _requests(load: Load, assumed: Assumed) -> float:
    per_run = {SINGLE: 1.0, BULK: 1 / assumed.bulk_jobs, RECURRING: 0.0}
    return load.runs * per_run[load.submission]


def _watching(profile: Profile, load: Load, assumed: Assumed) -> list[_Calls]:
    size = profile.functions["watcher"]
    awake = awake_hours(profile, load) * 60
    return [
        _Calls(awake, profile.watch_seconds, size),
        _Calls(MINUTES - awake, assumed.asleep_seconds, size),
    ]


def _running(profile: Profile, load: Load, assumed: Assumed) -> list[_Calls]:
    batch = executor_batch(profile, load, assumed)
    events = _recorder_batch(profile, load, assumed)
    single = load.submission == SINGLE
    told = load.runs * (assumed.messages_per_run - 1)
    return [
        _Calls(
            _requests(load, assumed),
            assumed.submit_seconds if single else assumed.bulk_seconds,
            profile.functions["submit"],
        ),
        _Calls(
            load.runs / batch,
            _execute_seconds(profile, load, assumed),
            profile.functions["executor"],
        ),
        _Calls(
            told / events,
            assumed.record_seconds + events * assumed.record_seconds_per_event,
            profile.functions["recorder"],
        ),
    ]


def _around(profile: Profile, load: Load, assumed: Assumed) -> Usage:
    pools = (DEFAULT_POOL, TASKS_POOL)
    # At rest there is the canary's class, and the backlog of each pool.
    busy = series(len(pools), len(JobClass)) if load.runs_a_day else series(1, 1) + 1
    traced = load.runs / profile.trace_one_in if profile.trace_one_in else 0.0
    return {
        "metrics": busy,
        "traces": traced / 1e6,
        "between_zones": load.runs * assumed.bytes_between_zones_per_run / _GB,
    }
