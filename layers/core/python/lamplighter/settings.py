"""Everything that can be set from outside, once: name, meaning, default, limits."""

from collections.abc import Mapping
from difflib import get_close_matches
from enum import StrEnum
from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta

from lamplighter.domain.errors import LamplighterError
from lamplighter.domain.policy import JobClass

PREFIX: Final = "LAMPLIGHTER_"


class InvalidSettings(LamplighterError):
    """A variable is misspelt or out of range. Names it, and the fix."""


class Bus(StrEnum):
    """What carries messages between the functions."""

    STREAMS = "streams"
    KAFKA = "kafka"
    SQS = "sqs"


class LogLevel(StrEnum):
    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


class Secrets(StrEnum):
    """Who keeps what `{"secret": "name"}` stands for."""

    FOLDER = "folder"
    AWS = "aws"


_OR_WHERE: Final = " Or secret:NAME, its name or ARN in Secrets Manager."
_ALERT_URL: Final = "Told when a critical job fails." + _OR_WHERE
# What stands in a variable can be read by whoever may look at a function.
REFERENCE: Final = "secret:"


def _secret(description: str) -> Meta:
    return Meta(min_length=1, description=description + _OR_WHERE, extra={"secret": True})


def _secret_url(pattern: str, description: str) -> Meta:
    return Meta(pattern=pattern, description=description, extra={"secret": True})


def _at_least(least: int, description: str) -> Meta:
    return Meta(ge=least, description=description)


DatabaseUrl = Annotated[
    str, _secret_url("^postgres(ql)?://", "PostgreSQL 16 or later; unset: embedded.")
]
ValkeyUrl = Annotated[
    str, _secret_url("^(valkey|redis)s?://", "Valkey 8 or later; unset: embedded.")
]
KafkaServers = Annotated[
    str,
    Meta(
        pattern=r"^[^\s:/,]+:\d+(,[^\s:/,]+:\d+)*$",
        description="Kafka brokers as host:port,host:port; unset: embedded where the bus is kafka.",
    ),
]


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One process's settings. Read once, at the start; nothing reads the environment later."""

    database_url: DatabaseUrl | None = None
    valkey_url: ValkeyUrl | None = None
    kafka_bootstrap_servers: KafkaServers | None = None
    database_iam: Annotated[
        bool, Meta(description="Connect with tokens of IAM instead of a password (RDS, Aurora).")
    ] = False
    database_login: (
        Annotated[
            str,
            Meta(
                min_length=1, description="Whom migrate lets use its tables, where it is another."
            ),
        ]
        | None
    ) = None
    kafka_iam: Annotated[
        bool, Meta(description="Connect with tokens of IAM over TLS (MSK); else in the clear.")
    ] = False
    bus: Annotated[
        Bus, Meta(description="What carries messages: streams (Valkey Streams), kafka or sqs.")
    ] = Bus.STREAMS
    sqs_prefix: Annotated[
        str,
        Meta(
            pattern=r"^[A-Za-z0-9_-]{1,40}$",
            description="What the queues' names begin with, where the bus is sqs.",
        ),
    ] = "lamplighter"
    data_dir: Annotated[
        str, Meta(min_length=1, description="Where the embedded services keep their data.")
    ] = ".lamplighter"
    url: (
        Annotated[
            str,
            Meta(pattern="^https?://", description="Where the command line finds the API."),
        ]
        | None
    ) = None
    api_key: (
        Annotated[
            str,
            # A JWT begins with `{"` in base64.
            _secret_url("^(lamp_|eyJ)", "What the command line shows to the API: a key or token."),
        ]
        | None
    ) = None
    jwt_tenant_claim: Annotated[
        str, Meta(min_length=1, description="Claim of a token that names its tenant.")
    ] = "tenant"
    jwt_default_tenant: (
        Annotated[
            str,
            Meta(min_length=1, description="Tenant of tokens without it; unset: they are refused."),
        ]
        | None
    ) = None
    log_level: Annotated[LogLevel, Meta(description="debug, info, warning or error.")] = (
        LogLevel.INFO
    )
    cell: Annotated[
        str, Meta(pattern=r"^[a-z0-9-]{1,40}$", description="Names this cell's keys in Valkey.")
    ] = "lamplighter"
    pools: Annotated[
        str,
        Meta(
            pattern=r"^[A-Za-z0-9_-]{1,100}=\d{1,6}(,[A-Za-z0-9_-]{1,100}=\d{1,6})*$",
            description="Every pool, and the most runs that may be on the bus for it at once.",
        ),
    ] = "default=10000,tasks=64"
    mapped_pools: Annotated[
        str,
        Meta(description="Pools for which Lambda's Kafka mappings read, as one,two."),
    ] = ""
    shares: Annotated[
        str,
        Meta(
            pattern=r"^[1-9]\d{0,5}(,[1-9]\d{0,5}){3}$",
            description="How the classes P1 to P4 divide a pool that is full.",
        ),
    ] = "100,50,20,10"
    pool: Annotated[str, Meta(min_length=1, description="The pool that this worker serves.")] = (
        "default"
    )
    places: Annotated[int, _at_least(1, "Runs that one worker executes at the same time.")] = 32
    longest_seconds: Annotated[
        int, _at_least(1, "Longest that a run may take in this worker's pool.")
    ] = 300
    default_target: Annotated[
        str, Meta(min_length=1, description="The Python handler of jobs that name no target.")
    ] = "builtin.echo"
    handler_modules: Annotated[
        str, Meta(description="Modules with handlers that jobs may call, as one,two.three.")
    ] = ""
    commands: Annotated[
        bool, Meta(description="Let jobs run commands, which can do what their worker can.")
    ] = True
    allow_private_addresses: Annotated[
        bool, Meta(description="Let webhooks go to addresses inside the network.")
    ] = False
    courier_function: (
        Annotated[
            str,
            Meta(
                min_length=1,
                description="Lambda function that webhooks and alerts leave by; unset: directly.",
            ),
        ]
        | None
    ) = None
    own_subnets: Annotated[
        str,
        Meta(
            pattern=r"^subnet-[0-9a-f]+(,subnet-[0-9a-f]+)*$",
            description="Subnets of the scheduler's own network, where jobs may start no task.",
        ),
    ] = ""
    webhook_secret: Annotated[str, _secret("Signs what http targets are sent.")] | None = None
    log_bucket: (
        Annotated[str, Meta(description="S3 bucket for logs of runs; unset: data_dir.")] | None
    ) = None
    secrets: Annotated[
        Secrets, Meta(description="Where targets' secrets are: folder (in data_dir) or aws.")
    ] = Secrets.FOLDER
    secrets_prefix: Annotated[
        str,
        Meta(
            pattern=r"^[A-Za-z0-9_.-]{1,64}$",
            description="Targets' secrets are PREFIX/TENANT/NAME, where they are in aws.",
        ),
    ] = "lamplighter"
    alert_sns_topic: (
        Annotated[str, Meta(description="SNS topic that is told when a critical job fails.")] | None
    ) = None
    pagerduty_routing_key: (
        Annotated[str, _secret("PagerDuty's, for critical jobs that fail.")] | None
    ) = None
    pagerduty_url: Annotated[
        str, Meta(pattern="^https?://", description="PagerDuty's Events API, version 2.")
    ] = "https://events.pagerduty.com/v2/enqueue"
    alert_webhook_url: Annotated[str, _secret_url("^(https?://|secret:.)", _ALERT_URL)] | None = (
        None
    )
    alert_webhook_secret: Annotated[str, _secret("Signs what it is sent.")] | None = None
    canary_seconds: Annotated[
        int, Meta(ge=0, le=86_400, description="How often the scheduler's own job fires; 0: never.")
    ] = 0
    traces: Annotated[
        bool, Meta(description="Trace runs from submission to completion: X-Ray, or data_dir.")
    ] = False
    trace_one_in: Annotated[
        int, _at_least(1, "Of so many runs one is traced; which, its id says.")
    ] = 1
    watch_seconds: Annotated[
        int, _at_least(1, "How long one call of the watcher lasts; two overlap.")
    ] = 75
    thrifty: Annotated[
        bool, Meta(description="Leave the database alone while nothing is due, so it may pause.")
    ] = False
    fail_points: (
        Annotated[str, Meta(description="For tests: the folder that says where to crash.")] | None
    ) = None
    statement_timeout_ms: Annotated[
        int, _at_least(1, "Longest that one SQL statement may take.")
    ] = 10_000
    lock_timeout_ms: Annotated[int, _at_least(1, "Longest wait for a row or table lock.")] = 3_000
    idle_in_transaction_timeout_ms: Annotated[
        int, _at_least(1, "Longest that a transaction may sit idle before the server ends it.")
    ] = 10_000
    pool_max_size: Annotated[int, _at_least(1, "Most database connections per process.")] = 8
    partition_days_ahead: Annotated[
        int, _at_least(1, "Days for which the ledger's partitions are made ahead.")
    ] = 7
    retention_days: Annotated[
        int, _at_least(1, "Days after which history leaves: runs, one-off jobs, minutes, audit.")
    ] = 30

    def windows(self) -> dict[str, int]:
        """`pools`, read: how many runs of each may be on the bus at once."""
        pairs = (each.split("=") for each in self.pools.split(","))
        return {name: int(window) for name, window in pairs}

    def pools_of_mappings(self) -> frozenset[str]:
        """`mapped_pools`, read."""
        return frozenset(each for each in self.mapped_pools.split(",") if each)

    def own_network(self) -> frozenset[str]:
        """`own_subnets`, read."""
        return frozenset(each for each in self.own_subnets.split(",") if each)

    def class_shares(self) -> dict[JobClass, int]:
        """`shares`, read."""
        return dict(zip(JobClass, map(int, self.shares.split(",")), strict=True))

    def __repr__(self) -> str:
        """Every value but the secret ones, so that a settings object may be logged."""
        shown = {item.name: getattr(self, item.name) for item in fields()}
        hidden = {item.name for item in fields() if item.secret and shown[item.name]}
        pairs = (f"{name}={'…' if name in hidden else value!r}" for name, value in shown.items())
        return f"Settings({', '.join(pairs)})"


class Field(msgspec.Struct, frozen=True):
    """One setting, as documentation and error messages need it."""

    name: str
    variable: str
    default: str
    description: str
    secret: bool


def fields() -> list[Field]:
    """Every setting, in the order of the class."""
    return [_field(each) for each in msgspec.structs.fields(Settings)]


def _field(each: msgspec.structs.FieldInfo) -> Field:
    meta = _meta(each.type)
    return Field(
        name=each.name,
        variable=PREFIX + each.name.upper(),
        default="" if each.default is None else str(each.default),
        description=meta.description or "",
        secret=bool((meta.extra or {}).get("secret")),
    )


def _meta(annotation: Any) -> Meta:
    """The Meta of `Annotated[T, Meta]`, also where that is one side of `… | None`."""
    for candidate in (annotation, *getattr(annotation, "__args__", ())):
        for note in getattr(candidate, "__metadata__", ()):
            if isinstance(note, Meta):
                return note
    raise TypeError(f"{annotation} is a setting without a description")


def load(environment: Mapping[str, str]) -> Settings:
    """The settings that the environment gives. Raises InvalidSettings rather than guess."""
    by_variable = {field.variable: field.name for field in fields()}
    given = {name: value for name, value in environment.items() if name.startswith(PREFIX)}
    for variable, value in given.items():
        _check(variable, value, by_variable)
    values = {by_variable[variable]: value for variable, value in given.items()}
    try:
        return msgspec.convert(values, Settings, strict=False)
    except msgspec.ValidationError as invalid:
        raise InvalidSettings(_explain(str(invalid))) from None


def _check(variable: str, value: str, known: Mapping[str, str]) -> None:
    if variable not in known:
        # Without the prefix, which would make any two names look alike.
        near = get_close_matches(variable.removeprefix(PREFIX).lower(), known.values(), n=1)
        hint = f"Did you mean {PREFIX}{near[0].upper()}?" if near else "See docs/settings.md."
        raise InvalidSettings(f"{variable} is not a setting. {hint}")
    if not value:
        raise InvalidSettings(f"{variable} is empty. Give it a value, or unset it.")


def _explain(problem: str) -> str:
    """From `Expected int >= 1 - at $.pool_max_size`; the value stays out, it may be a secret."""
    rule, _, place = problem.partition(" - at `$.")
    return f"{PREFIX}{place.rstrip('`').upper()}: {rule[0].lower()}{rule[1:]}"


def as_markdown() -> str:
    """The page docs/settings.md."""
    rows = [f"| `{f.variable}` | {_cell(f.default)} | {f.description} |" for f in fields()]
    return "\n".join(
        [
            "# Settings",
            "",
            "Environment variables, read once at the start. A misspelt one stops the start.",
            "This page is made by `lamplighter settings`; a test compares the two.",
            "",
            "| variable | default | meaning |",
            "|---|---|---|",
            *rows,
            "",
        ]
    )


def _cell(default: str) -> str:
    return f"`{default}`" if default else ""
