"""The one place where adapters are built from settings: lazily, once per process.

Drivers take longer to import than all the rest, so each is imported by the part that needs it: a
function that only reads starts without Kafka's.
"""

import os
import socket
import threading
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from datetime import timedelta
from functools import cache as remember
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar
from urllib.parse import quote, urlsplit
from uuid import uuid4

import msgspec

from lamplighter import fail_points
from lamplighter.contracts.batch import Batch
from lamplighter.contracts.topics import all_topics
from lamplighter.domain.run import Due
from lamplighter.ports.bus import Bus, Consumer, Message, Record
from lamplighter.ports.logs import Logs
from lamplighter.ports.queue import QueueUnavailable
from lamplighter.ports.secrets import Held
from lamplighter.ports.target import Secrets
from lamplighter.ports.traces import Span, Spans
from lamplighter.settings import REFERENCE, InvalidSettings, Settings, load
from lamplighter.settings import Bus as BusKind
from lamplighter.settings import Secrets as SecretsKind
from lamplighter.stages.aftermath import Folded
from lamplighter.stages.alert import Alarm
from lamplighter.stages.capacity import probe
from lamplighter.stages.clock import LedgerClock, this_machine
from lamplighter.stages.defer import Deferral
from lamplighter.stages.desk import Desk
from lamplighter.stages.execute import Executor
from lamplighter.stages.gather import Gathering
from lamplighter.stages.measure import measure
from lamplighter.stages.news import Announcer
from lamplighter.stages.presence import Presence
from lamplighter.stages.reach import Reach
from lamplighter.stages.record import Recorder
from lamplighter.stages.report import Reporter
from lamplighter.stages.run import Limits, Runner
from lamplighter.stages.spare import Spare
from lamplighter.stages.work import Doubts, Work
from lamplighter.telemetry import Telemetry, to_stdout
from lamplighter.telemetry.logs import told_in_every_line, write_json
from lamplighter.telemetry.metrics import DEAD_LETTERS, REQUESTS_DEFERRED

if TYPE_CHECKING:
    from lamplighter.adapters.aws_identity.secrets import KeptSecrets
    from lamplighter.adapters.kafka.config import TokenProvider
    from lamplighter.adapters.postgres.address import Address
    from lamplighter.adapters.postgres.api_keys import PostgresApiKeys
    from lamplighter.adapters.postgres.database import Habits
    from lamplighter.adapters.postgres.listing import PostgresQueryLedger
    from lamplighter.adapters.sqs.bus import SqsBus
    from lamplighter.adapters.targets.aws.clients import Clients
    from lamplighter.adapters.targets.http.courier import CourierSender
    from lamplighter.adapters.targets.http.sending import DirectSender
    from lamplighter.adapters.valkey.cache import ValkeyCache
    from lamplighter.adapters.valkey.client import Client
    from lamplighter.adapters.valkey.leases import ValkeyLeases
    from lamplighter.adapters.valkey.queue import ValkeyQueue
    from lamplighter.adapters.valkey.rest import ValkeyRest
    from lamplighter.stages.attend import Worker
    from lamplighter.stages.authorize import Authorizer
    from lamplighter.stages.capacity import Window
    from lamplighter.stages.duties import Report
    from lamplighter.stages.keyring import Keyring
    from lamplighter.stages.standing import Gauge
    from lamplighter.stages.thrift import ThriftyWatcher
    from lamplighter.stages.trace import Tracer
    from lamplighter.stages.watch import Watcher

T = TypeVar("T")

# How long a submission on Lambda waits for its news to leave: it is stopped when it has answered.
_A_MOMENT: Final = 0.1
# The heartbeat's answer says the same for as long as the run goes on.
_CANCELLED_FOR: Final = timedelta(hours=1)
# Spans that wait to be sent; and how long a function waits for that before it is stopped.
_TRACED: Final = 10_000
_TRACE_SECONDS: Final = 1.0
_TRACE_REST: Final = 60.0
_building: Final = threading.RLock()


_kept: Final[list[Callable[[], None]]] = []
# What has to leave the process before it may be frozen.
_at_the_end: Final[list[Callable[[], object]]] = []


def forget() -> None:
    """Build everything anew when next asked for: for tests, which have many settings."""
    for clear in _kept:
        clear()
    _at_the_end.clear()


def once(build: Callable[[], T]) -> Callable[[], T]:
    """Built when first asked for, by whichever thread asks first; a failure is tried again."""
    built = remember(build)
    _kept.append(built.cache_clear)

    @wraps(build)
    def get() -> T:
        with _building:
            return built()

    return get


def invoked(handler: Callable[[dict[str, Any], Any], T]) -> Callable[[dict[str, Any], Any], T]:
    """Around a function's handler: its lines say whose they are, and what it told leaves with it.

    However it ends; and needs no settings, so that a handler can say which of them is wrong.
    """
    function = handler.__module__.split(".")[1]

    @wraps(handler)
    def invoke(event: dict[str, Any], context: Any) -> T:
        request_id = getattr(context, "aws_request_id", None)
        try:
            with told_in_every_line(function=function, request_id=request_id):
                return handler(event, context)
        finally:
            flush()

    return invoke


def spared(
    handler: Callable[[dict[str, Any], Any], dict[str, Any]],
) -> Callable[[dict[str, Any], Any], dict[str, Any]]:
    """Around a handler that mappings call: a message that breaks it takes no other along."""
    spare = Spare(handler.__module__.split(".")[1], handler, bury=bury, answer=answer)

    @wraps(handler)
    def handle(event: dict[str, Any], context: Any) -> dict[str, Any]:
        return spare(event, context)

    return handle


def flush() -> None:
    for leave in _at_the_end:
        leave()


@once
def settings() -> Settings:
    given = load(os.environ)
    fail_points.watch(Path(given.fail_points) if given.fail_points else None)
    if _is_on_aws():
        write_json(given.log_level)
    return given


@once
def process() -> str:
    """Who this process is, among all that ever were: worker and lease holder."""
    return f"{socket.gethostname()[:40]}-{os.getpid()}-{uuid4().hex[:8]}"


@once
def ledger() -> "PostgresQueryLedger":
    from lamplighter.adapters.postgres.database import Bounds
    from lamplighter.adapters.postgres.listing import PostgresQueryLedger

    given = settings()
    bounds = Bounds(
        given.statement_timeout_ms, given.lock_timeout_ms, given.idle_in_transaction_timeout_ms
    )
    made = PostgresQueryLedger(
        database(),
        max_size=given.pool_max_size,
        bounds=bounds,
        habits=_habits(),
    )
    if given.thrifty:
        _at_the_end.append(lambda: _leave(made))
    return made


def _habits() -> "Habits | None":
    from lamplighter.adapters.postgres.database import THRIFTY

    return THRIFTY if settings().thrifty else None


def _leave(ledger: "PostgresQueryLedger") -> None:
    """A frozen process closes nothing, and whoever was there may have left something to do."""
    if ledger.let_go():
        with suppress(QueueUnavailable):
            _rest().end()


def database() -> "Address":
    """The ledger's."""
    return address(_required("LAMPLIGHTER_DATABASE_URL", settings().database_url))


def admin_database(secret_id: str | None) -> "Address":
    """The same, as who may make tables and roles: user and password are a secret of RDS's own."""
    if secret_id is None:
        return database()
    given = msgspec.json.decode(_kept_secrets().value(secret_id), type=dict[str, Any])
    url = urlsplit(_required("LAMPLIGHTER_DATABASE_URL", settings().database_url))
    who = f"{quote(given['username'], safe='')}:{quote(given['password'], safe='')}"
    return url._replace(netloc=f"{who}@{url.netloc.rpartition('@')[2]}").geturl()


def address(url: str) -> "Address":
    """As it stands; or without a password, where IAM makes one for every connection."""
    if not settings().database_iam:
        return url
    from lamplighter.adapters.aws_identity.rds import RdsAddress, RdsTokens

    return RdsAddress(url, sign=RdsTokens(_region()))


@once
def clock() -> LedgerClock:
    return LedgerClock(ledger().now, slow=_slow())


def _slow() -> timedelta:
    """Who connects anew at every call, perhaps to a database that has to resume, sees to it."""
    return timedelta(milliseconds=20) if settings().thrifty else timedelta.max


@once
def _valkey() -> "Client":
    from lamplighter.adapters.valkey.client import Client

    url = _required("LAMPLIGHTER_VALKEY_URL", settings().valkey_url)
    return Client(url, cell=settings().cell)


@once
def queue() -> "ValkeyQueue":
    from lamplighter.adapters.valkey.queue import ValkeyQueue

    return ValkeyQueue(_valkey(), shares=settings().class_shares())


@once
def _rest() -> "ValkeyRest":
    from lamplighter.adapters.valkey.rest import ValkeyRest

    return ValkeyRest(_valkey())


@once
def _gate() -> "ValkeyLeases":
    from lamplighter.adapters.valkey.leases import ValkeyLeases

    return ValkeyLeases(_valkey())


@once
def cache() -> "ValkeyCache":
    from lamplighter.adapters.valkey.cache import ValkeyCache

    return ValkeyCache(_valkey())


@once
def bus() -> Bus:
    given = settings()
    if given.bus is BusKind.KAFKA:
        from lamplighter.adapters.kafka.bus import KafkaBus
        from lamplighter.adapters.kafka.config import KafkaAccess

        servers = _required("LAMPLIGHTER_KAFKA_BOOTSTRAP_SERVERS", given.kafka_bootstrap_servers)
        return KafkaBus(KafkaAccess(servers, _tokens() if given.kafka_iam else None))
    if given.bus is BusKind.SQS:
        return _sqs()
    from lamplighter.adapters.streams.bus import StreamsBus

    url = _required("LAMPLIGHTER_VALKEY_URL", given.valkey_url)
    return StreamsBus(url, topics=all_topics(given.windows()))


@once
def _sqs() -> "SqsBus":
    from lamplighter.adapters.sqs.bus import SqsBus

    return SqsBus(_clients(), prefix=settings().sqs_prefix)


def answer(batch: Batch, failed: Iterable[Record]) -> dict[str, Any]:
    """What a mapping is told of a batch; SQS lets what failed come again soon if asked to."""
    again = list(failed)
    receipts = batch.receipts_of(again)
    if receipts and settings().bus is BusKind.SQS:
        _sqs().give_back(receipts)
    return batch.answer(again)


def _tokens() -> "TokenProvider":
    from lamplighter.adapters.aws_identity.msk import MskTokens

    return MskTokens(_region())


@once
def _clients() -> "Clients":
    from lamplighter.adapters.targets.aws.clients import Clients

    return Clients()


@once
def logs() -> Logs:
    if bucket := settings().log_bucket:
        from lamplighter.adapters.logs.s3 import S3Logs

        return S3Logs(bucket, _clients())
    from lamplighter.adapters.logs.folder import FolderLogs

    return FolderLogs(Path(settings().data_dir) / "runs")


@once
def secrets() -> Secrets:
    from lamplighter.adapters.targets.secrets import FolderSecrets, ManagedSecrets

    if settings().secrets is SecretsKind.AWS:
        return ManagedSecrets(_kept_secrets())
    return FolderSecrets(Path(settings().data_dir) / "secrets")


@once
def _kept_secrets() -> "KeptSecrets":
    from lamplighter.adapters.aws_identity.secrets import KeptSecrets

    return KeptSecrets(_clients())


def held(given: str) -> Held:
    """A secret setting: as it stands, or fetched when it is first needed."""
    if not given.startswith(REFERENCE):
        return given
    return lambda: _kept_secrets().value(given.removeprefix(REFERENCE))


@once
def runner() -> Runner:
    from lamplighter.adapters.targets.python.handlers import Handlers
    from lamplighter.adapters.targets.registry import Registry, all_targets

    given = settings()
    modules = [each for each in given.handler_modules.split(",") if each]
    targets = all_targets(
        handlers=Handlers(modules, modules),
        clients=_clients(),
        sender=_sender(),
        signing_secret=held(given.webhook_secret) if given.webhook_secret else None,
    )
    limits = Limits(places=given.places, longest_seconds=given.longest_seconds)
    return Runner(Registry(targets, _default_target()), logs(), secrets(), limits)


@once
def _sender() -> "CourierSender | DirectSender":
    """What takes webhooks out: this process itself, or the courier where there is no way out."""
    if function := settings().courier_function:
        from lamplighter.adapters.targets.http.courier import CourierSender

        return CourierSender(function, _clients())
    return messenger()


@once
def messenger() -> "DirectSender":
    """What the courier itself sends with, whatever its settings say of couriers."""
    from lamplighter.adapters.targets.http.sending import DirectSender

    return DirectSender(allow_private=settings().allow_private_addresses)


def _default_target() -> dict[str, Any]:
    return {"type": "python", "handler": settings().default_target}


@once
def _doubts() -> Doubts:
    return Doubts()


def work() -> Work:
    """Of one batch; its runs share the places of the process."""
    reporter = Reporter(ledger(), bus(), now=clock().now, recorder=recorder())
    return Work(
        ledger(),
        reporter,
        runner(),
        worker_id=process(),
        now=clock().now,
        doubts=_doubts(),
        tracer=tracer(),
    )


@once
def executor() -> Executor:
    presence().start()
    return Executor(runner(), work)


@once
def presence() -> Presence:
    return Presence(
        ledger(),
        cache(),
        bus(),
        runner(),
        worker_id=process(),
        pool=settings().pool,
        now=this_machine if settings().thrifty else clock().now,
        thrifty=settings().thrifty,
    )


def worker() -> "Worker":
    from lamplighter.contracts.topics import job_runs_topics
    from lamplighter.stages.attend import Worker
    from lamplighter.stages.capacity import executor_group

    pool = settings().pool
    topics = [topic.name for topic in job_runs_topics(pool)]
    consumer: Consumer = bus().consumer(executor_group(pool), topics)
    presence().start()
    return Worker(bus(), consumer, runner(), work(), buried=_count_buried)


def watcher() -> "Watcher | ThriftyWatcher":
    if not settings().thrifty:
        return _watcher()
    from lamplighter.stages.thrift import ThriftyWatcher

    return ThriftyWatcher(
        ledger(),
        _rest(),
        _gate(),
        queue(),
        _watcher,
        holder=process(),
        now=this_machine,
        let_go=ledger().let_go,
    )


def _watcher(
    report: "Report | None" = None, on_renewal: Callable[[], None] = lambda: None
) -> "Watcher":
    from lamplighter.stages.watch import Watcher

    return Watcher(
        ledger(),
        queue(),
        bus(),
        holder=process(),
        window=_window(),
        retention=timedelta(days=settings().retention_days),
        days_ahead=timedelta(days=settings().partition_days_ahead),
        report=report,
        on_renewal=on_renewal,
        gauge=_gauge() if telemetry().is_on else None,
        tracer=tracer(),
    )


def _window() -> "Window":
    from lamplighter.stages.capacity import Window

    given = settings()
    if given.bus is BusKind.SQS:  # bills every question, and its counts are seconds old anyway
        return Window(bus(), given.windows(), every_seconds=1.0, at_rest_seconds=60.0)
    return Window(bus(), given.windows(), mapped=given.pools_of_mappings())


@once
def _gauge() -> "Gauge":
    from lamplighter.stages.standing import Gauge

    given = settings()
    return Gauge(
        telemetry(), ledger(), queue(), bus(), given.windows(), mapped=given.pools_of_mappings()
    )


@once
def _reach() -> Reach:
    return Reach()


@once
def api_keys() -> "PostgresApiKeys":
    from lamplighter.adapters.postgres.api_keys import PostgresApiKeys
    from lamplighter.adapters.postgres.database import Database

    made = PostgresApiKeys(Database(database(), max_size=2, habits=_habits()))
    if settings().thrifty:
        _at_the_end.append(made.let_go)
    return made


@once
def authorizer() -> "Authorizer":
    from lamplighter.stages.authorize import Authorizer

    return Authorizer(api_keys(), cache(), _reach(), this_machine)


def keyring() -> "Keyring":
    from lamplighter.stages.keyring import Keyring

    return Keyring(api_keys(), cache() if settings().valkey_url else None)


def tenant_claim() -> str:
    """Asked for by each request: a setting that is wrong is then told as any other."""
    return settings().jwt_tenant_claim


@once
def desk() -> Desk:
    """What submit and query serve people with."""
    return Desk(
        ledger=ledger(),
        now=LedgerClock(lambda: _reach()(ledger().now), otherwise=this_machine, slow=_slow()).now,
        deferral=Deferral(
            lambda batch: bus().publish(batch),
            _reach(),
            submit=Gathering(ledger().submit),
            deferred=lambda jobs: telemetry().count(REQUESTS_DEFERRED, jobs),
        ),
        hint=_hint(),
        logs=logs(),
        # Asked for when there is something to tell: whoever only reads needs no bus.
        announce=Announcer(
            lambda news: bus().publish(news), wait_seconds=_A_MOMENT if _is_lambda() else 0.0
        ),
        stop_running=lambda run_ids: cache().flag_cancelled(run_ids, _CANCELLED_FOR),
        cache=cache(),
        queue=queue(),
        pools=settings().windows().keys(),
        tracer=tracer(),
        probes={"queue": queue().counts, "bus": lambda: probe(bus())},
    )


def _hint() -> Callable[[Sequence[Due]], None]:
    if not settings().thrifty:
        return queue().add
    from lamplighter.stages.hint import Hint

    return Hint(_gate(), queue(), lambda runs: bus().publish(runs), this_machine)


@once
def recorder() -> Recorder:
    return Recorder(
        ledger(),
        bus(),
        cache(),
        _alarm(),
        _follow,
        wake=_rest().end if settings().thrifty else queue().wake,
        buried=_count_buried,
    )


def _alarm() -> Alarm:
    from lamplighter.adapters.alerts.all import all_ways

    # Asked for when there is something to send: most processes never alert anybody.
    return Alarm(
        all_ways(settings(), _clients, lambda request: _sender().send_alone(request), held)
    )


@once
def telemetry() -> Telemetry:
    """Lambda and ECS send standard output to CloudWatch; elsewhere `/metrics` has it all."""
    made = Telemetry(to_stdout if _is_on_aws() else None, settings().cell)
    _at_the_end.append(made.flush)
    return made


def _follow(folded: Folded) -> None:
    """What metrics and traces learn from a batch that was recorded."""
    measure(telemetry(), folded)
    if (traced := tracer()) is not None:
        traced.recorded(folded)


@once
def tracer() -> "Tracer | None":
    if not settings().traces:
        return None
    from lamplighter.stages.effort import Effort
    from lamplighter.stages.outbox import Outbox
    from lamplighter.stages.trace import Tracer

    spans, effort = _spans(), Effort("sending traces", rest_seconds=_TRACE_REST)
    outbox = Outbox[Span]("traces", lambda some: effort.make(lambda: spans.put(some)), room=_TRACED)
    # Where nobody takes them, nobody waits for that either.
    _at_the_end.append(lambda: effort.is_resting or outbox.drain(_TRACE_SECONDS))
    return Tracer(outbox, settings().trace_one_in)


def _spans() -> Spans:
    if _is_on_aws():
        from lamplighter.adapters.traces.xray import XRaySpans

        return XRaySpans(_clients())
    from lamplighter.adapters.traces.file import FileSpans

    return FileSpans(Path(settings().data_dir) / "traces.jsonl")


def bury(letters: Sequence[Message]) -> None:
    """Dead letters: to their topic, and counted."""
    if letters:
        bus().publish(letters)
        _count_buried(len(letters))


def _count_buried(letters: int) -> None:
    telemetry().count(DEAD_LETTERS, letters)


def _is_on_aws() -> bool:
    return _is_lambda() or "ECS_CONTAINER_METADATA_URI_V4" in os.environ


def _is_lambda() -> bool:
    return "AWS_LAMBDA_FUNCTION_NAME" in os.environ


def _region() -> str:
    """Lambda says it to its functions, and the stack to its tasks."""
    return _required("AWS_REGION", os.environ.get("AWS_REGION"))


def _required(variable: str, value: str | None) -> str:
    if value is None:
        raise InvalidSettings(f"{variable} is not set. This function cannot work without it.")
    return value
