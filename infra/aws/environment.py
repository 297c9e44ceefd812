"""The environment variables of every function and task: one table, checked against the settings."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from infra.aws.logins import LOGIN, login_of
from infra.aws.options import Options
from infra.aws.profiles import TASKS_POOL
from lamplighter.domain.job import DEFAULT_POOL
from lamplighter.settings import PREFIX, fields

# It is outside the network and stands on nothing: what it needs comes with each call.
COURIER = "courier"
WORKER = "worker"
# Who carries out what jobs ask for, and tells of it; the watcher does, where the bus is away.
_TELLERS = frozenset({"executor", WORKER, "recorder", "watcher"})
_WITH_HANDLERS = frozenset({"executor", WORKER})
_BEHIND_THE_GATEWAY = frozenset({"submit", "query"})
# Who says whether a target may be submitted, and who would run it.
_ASKED_FOR_TARGETS = frozenset({"submit", "recorder", "executor", WORKER})


class UnknownSetting(Exception):
    """The stack would set a variable that no function reads, and that stops every start."""


@dataclass(frozen=True)
class Surroundings:
    """What the stack knows once it is deployed: addresses and names."""

    # With the login of whose environment it is.
    database_url: str
    valkey_url: str
    # One of the two: the brokers' addresses, or what the queues' names begin with.
    kafka_servers: str | None
    sqs_prefix: str | None
    log_bucket: str
    alerts: str
    courier: str
    # Of every kind: from any of them, Valkey answers whoever asks.
    subnets: Sequence[str]


def environment(function: str, options: Options, around: Surroundings) -> dict[str, str]:
    """Without a secret: those are named (`secret:…`), and fetched where they are used."""
    values = _common(options)
    if function != COURIER:
        values |= _parts(options, around) | _sizes(function, options)
    if login_of(function) != LOGIN:
        values["database_login"] = LOGIN
    if function in _BEHIND_THE_GATEWAY:
        values["jwt_tenant_claim"] = options.jwt_tenant_claim
        values["jwt_default_tenant"] = options.jwt_default_tenant
    if function in _ASKED_FOR_TARGETS:
        # Never in a function: it has no shell.
        values["commands"] = "true" if options.commands and function != "executor" else "false"
        values["own_subnets"] = ",".join(around.subnets)
    if function in _WITH_HANDLERS:
        values["handler_modules"] = ",".join(options.handler_modules) or None
    if function in _TELLERS:
        values |= _outside(options, around)
    return checked(values)


def checked(values: Mapping[str, str | None]) -> dict[str, str]:
    """As variables; those that have no value are left out."""
    known = {field.name: field.variable for field in fields()}
    if unknown := sorted(values.keys() - known.keys()):
        raise UnknownSetting(f"{', '.join(unknown)}: not in lamplighter.settings ({PREFIX}…)")
    return {known[name]: value for name, value in values.items() if value is not None}


def _common(options: Options) -> dict[str, str | None]:
    one_in = options.profile.trace_one_in
    return {
        "cell": options.cell,
        "log_level": "info",
        "traces": "true" if one_in else None,
        "trace_one_in": str(one_in) if one_in else None,
    }


def _parts(options: Options, around: Surroundings) -> dict[str, str | None]:
    profile = options.profile
    kafka = around.kafka_servers is not None
    return {
        "database_url": around.database_url,
        "database_iam": "true",
        "valkey_url": around.valkey_url,
        "bus": "kafka" if kafka else "sqs",
        "kafka_bootstrap_servers": around.kafka_servers,
        "kafka_iam": "true" if kafka else None,
        "sqs_prefix": around.sqs_prefix,
        "log_bucket": around.log_bucket,
        "pools": ",".join(f"{pool}={window}" for pool, window in profile.windows.items()),
        "mapped_pools": DEFAULT_POOL if kafka else None,
        "thrifty": "true" if profile.thrifty else None,
        "canary_seconds": str(profile.canary_seconds),
        "retention_days": str(profile.ledger_days),
    }


def _sizes(function: str, options: Options) -> dict[str, str | None]:
    profile = options.profile
    if function == WORKER:
        tasks = profile.tasks
        return {
            "pool": TASKS_POOL,
            "places": str(tasks.places),
            "longest_seconds": str(tasks.longest_seconds),
            "pool_max_size": str(tasks.connections),
        }
    return {
        "places": str(profile.places),
        "longest_seconds": str(profile.longest_seconds),
        "watch_seconds": str(profile.watch_seconds),
        "pool_max_size": str(profile.functions[function].connections),
    }


def _outside(options: Options, around: Surroundings) -> dict[str, str | None]:
    return {
        "courier_function": around.courier,
        "alert_sns_topic": around.alerts,
        "secrets": "aws",
        # Each cell has its own, and its roles read no other's.
        "secrets_prefix": options.stack_name,
        "webhook_secret": _named(options.webhook_secret),
        "pagerduty_routing_key": _named(options.pagerduty_secret),
    }


def _named(secret: str | None) -> str | None:
    return f"secret:{secret}" if secret else None
