"""What follows from a profile's sizes: how many of what, how long, how much at a time."""

import math
from collections.abc import Collection
from typing import Final

from infra.aws.constructs.readers import READERS
from infra.aws.cost.assumed import ASSUMED, Assumed
from infra.aws.cost.load import SINGLE, Load
from infra.aws.cost.prices import HOURS
from infra.aws.profiles import Profile
from infra.local.mapping import mapped
from lamplighter.domain.job import DEFAULT_POOL
from lamplighter.stages.thrift import LEAD, LONGEST_REST
from lamplighter.telemetry.metrics import DEAD_LETTERS, METRICS, REQUESTS_DEFERRED, Metric

# AWS's: a unit has so many pollers, and a poller so many calls at once.
_POLLERS_PER_UNIT: Final = 10
_CALLS_PER_POLLER: Final = 5
# Told when it happens, and else not; by the hour in which it is told a metric is paid.
_OF_TROUBLE: Final = frozenset({DEAD_LETTERS, REQUESTS_DEFERRED})


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
    # 13 of one metric, a failure rate of two, errors and throttles of each function, and the
    # scaling's own, up and down.
    return 13 + 2 + 2 * functions + disks + 2


def series(pools: int, classes: int, metrics: Collection[Metric] = METRICS) -> int:
    """Metrics by all their dimensions, and each once for the cell."""
    size = {"Pool": pools, "Class": classes}
    return sum(
        1 + (math.prod(size[name] for name in metric.by) if metric.by else 0) for metric in metrics
    )


def quiet_series(pools: int) -> int:
    """What an hour tells that has nothing but a canary in it: its class, each pool's backlog."""
    told = [metric for metric in METRICS if metric not in _OF_TROUBLE]
    return series(1, 1, told) + pools - 1


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


def poller_units(profile: Profile, load: Load, assumed: Assumed = ASSUMED) -> int:
    """A poller for each mapping, and more where one mapping has many calls at once."""
    calls = load.rate / executor_batch(profile, load, assumed)
    at_once = calls * execute_seconds(profile, load, assumed)
    busy = min(profile.readings["executor"].most_pollers, math.ceil(at_once / _CALLS_PER_POLLER))
    return math.ceil((mappings() - 1 + max(1, busy)) / _POLLERS_PER_UNIT)


def executor_batch(profile: Profile, load: Load, assumed: Assumed = ASSUMED) -> float:
    """What gathers while the calls before are under way; all of it in one class."""
    reading = profile.readings["executor"]
    at_once = (
        reading.most_invocations
        if profile.broker is None
        else reading.most_pollers * _CALLS_PER_POLLER
    )
    return min(reading.batch, max(1.0, load.rate * assumed.execute_seconds / at_once))


def execute_seconds(profile: Profile, load: Load, assumed: Assumed = ASSUMED) -> float:
    batch = executor_batch(profile, load, assumed)
    return assumed.execute_seconds + batch * assumed.execute_seconds_per_run


def recorder_batch(profile: Profile, load: Load, assumed: Assumed = ASSUMED) -> float:
    reading = profile.readings["recorder"]
    gathers = max(float(reading.window), assumed.record_seconds)
    events = load.rate * (assumed.messages_per_run - 1)
    return min(reading.batch, max(1.0, events * gathers))
