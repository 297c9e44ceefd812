"""How much of everything a month takes: from a profile's sizes, a load, and what is assumed."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final

from infra.aws.constructs.network import endpoints
from infra.aws.cost.assumed import ASSUMED, Assumed
from infra.aws.cost.calls import called
from infra.aws.cost.load import NOTHING, RECURRING, Load
from infra.aws.cost.prices import DAYS, HOURS, MINUTES, PRICES
from infra.aws.cost.sizes import (
    alarm_metrics,
    awake_hours,
    executor_batch,
    how_many_cells,
    mappings,
    poller_units,
    quiet_series,
    series,
)
from infra.aws.options import Options
from infra.aws.profiles import TASKS_POOL, Profile
from lamplighter.domain.job import DEFAULT_POOL
from lamplighter.domain.policy import JobClass

_LEAST_VALKEY_GB: Final = 0.1
_GB: Final = 1e9

# Of each price's unit, so much a month.
Usage = Mapping[str, float]


def dollars(usage: Usage) -> float:
    return sum(PRICES[name].of(quantity) for name, quantity in usage.items())


def month(profile: Profile, load: Load, assumed: Assumed = ASSUMED) -> Usage:
    """Standing and moving parts, in as many cells as the load takes."""
    cells = how_many_cells(profile, load, assumed)
    share = Load(load.runs_a_day / cells, load.submission, load.hours_a_day)
    found = _sum([_standing(profile, assumed), _moving(profile, share, assumed)])
    return {name: quantity * cells for name, quantity in found.items() if quantity}


def at_rest(profile: Profile, assumed: Assumed = ASSUMED) -> Usage:
    """With nothing but the scheduler's own canary."""
    return month(profile, NOTHING, assumed)


def _sum(parts: Iterable[Usage]) -> Usage:
    found: Counter[str] = Counter()
    for part in parts:
        found.update(part)
    return found


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
    parts = (_database, _cache, _bus, called, _around)
    return _sum(part(profile, load, assumed) for part in parts)


def _database(profile: Profile, load: Load, assumed: Assumed) -> Usage:
    """A reader is as large as the writer, since it may have to take over."""
    size = profile.database
    suffix = "_io" if size.io_optimized else ""
    floor = size.least_acu or assumed.awake_acu
    wanted = max(floor, load.rate / assumed.runs_per_acu) if load.runs_a_day else floor
    recurs = load.submission == RECURRING
    each = assumed.bytes_kept_per_recurring_run if recurs else assumed.bytes_kept_per_run
    kept = load.runs_a_day * profile.ledger_days * each / _GB
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
        "pollers": poller_units(profile, load, assumed) * HOURS,
        "express_in": written if broker.express else 0.0,
        "broker_gb": kept,
        "logs": broker.brokers * assumed.broker_log_gb,
    }


def _around(profile: Profile, load: Load, assumed: Assumed) -> Usage:
    pools = (DEFAULT_POOL, TASKS_POOL)
    quiet, busy = quiet_series(len(pools)), series(len(pools), len(JobClass))
    share = load.hours_a_day / 24
    traced = load.runs / profile.trace_one_in if profile.trace_one_in else 0.0
    return {
        "metrics": quiet + (busy - quiet) * share,
        "traces": traced / 1e6,
        "between_zones": load.runs * assumed.bytes_between_zones_per_run / _GB,
    }
