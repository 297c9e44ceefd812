"""Alarms: on what users feel, and on what breaks before they do. See docs/operations.md."""

from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_cloudwatch_actions as actions
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from infra.aws.constructs.api import Api
from infra.aws.constructs.broker import Broker
from infra.aws.constructs.database import Database
from infra.aws.constructs.functions import Functions
from infra.aws.constructs.metrics import Metrics, lag
from infra.aws.constructs.queues import Queues
from infra.aws.constructs.storage import Storage
from infra.aws.options import Options
from lamplighter.contracts.topics import DEPENDENCY_EVENTS, JOB_EVENTS, JOB_REQUESTS
from lamplighter.telemetry.metrics import (
    CANARY_LATENESS,
    DEAD_LETTERS,
    EXECUTIONS,
    FAILURES,
    LEADER_CHANGES,
    OLDEST_DUE,
    QUEUE_DEPTH,
    START_LATENESS,
)

_ABOVE = cloudwatch.ComparisonOperator.GREATER_THAN_THRESHOLD
_BELOW = cloudwatch.ComparisonOperator.LESS_THAN_THRESHOLD
_QUIET = cloudwatch.TreatMissingData.NOT_BREACHING
_LOUD = cloudwatch.TreatMissingData.BREACHING
# Alarm -> the topic that somebody is behind with. Of runs `Lateness` and `OldestDue` tell.
_LAGS = {"Lag": JOB_EVENTS, "DependencyLag": DEPENDENCY_EVENTS, "RequestLag": JOB_REQUESTS}


class Alarms(Construct):
    def __init__(
        self,
        scope: Construct,
        name: str,
        options: Options,
        *,
        metrics: Metrics,
        storage: Storage,
        functions: Functions,
        api: Api,
        bus: Broker | Queues,
        database: Database,
        set_aside: sqs.IQueue,
    ) -> None:
        super().__init__(scope, name)
        self._options = options
        self._limits = options.profile.alarms
        self._tell = actions.SnsAction(storage.alerts)
        self._promises(metrics)
        self._silence(metrics, functions)
        self._parts(functions, api, database)
        self._bus(bus, set_aside)

    def _promises(self, metrics: Metrics) -> None:
        limits = self._limits
        self._above("Lateness", metrics.of(START_LATENESS, "p99"), limits.lateness_ms)
        oldest = metrics.of(OLDEST_DUE, "Maximum")
        self._above("OldestDue", oldest, limits.oldest_due_seconds)
        self._above("QueueDepth", metrics.of(QUEUE_DEPTH, "Maximum"), limits.queue_depth)
        self._above("DeadLetters", metrics.of(DEAD_LETTERS, "Sum"), 0, of=1)
        changes = metrics.of(LEADER_CHANGES, "Sum", seconds=300)
        self._above("LeaderChanges", changes, limits.leader_changes, of=1)
        self._above("FailureRate", self._failure_rate(metrics), limits.failure_percent)

    def _failure_rate(self, metrics: Metrics) -> cloudwatch.MathExpression:
        """In percent, and none while there are too few runs for one to mean anything."""
        least = self._limits.failure_least_runs
        return cloudwatch.MathExpression(
            expression=f"IF(runs >= {least}, 100 * failures / runs, 0)",
            using_metrics={
                "runs": metrics.of(EXECUTIONS, "Sum", seconds=300),
                "failures": metrics.of(FAILURES, "Sum", seconds=300),
            },
            period=Duration.minutes(5),
            label="failed runs, percent",
        )

    def _silence(self, metrics: Metrics, functions: Functions) -> None:
        """What should always be heard: silence is the alarm."""
        period = self._options.profile.canary_seconds
        canary = metrics.of(CANARY_LATENESS, "SampleCount", seconds=period)
        # Two of its own periods: two minutes, and two hours where it fires hourly.
        self._alarm("NoCanary", canary, 1, _BELOW, of=2, missing=_LOUD)
        ticks = functions["watcher"].metric_invocations(period=Duration.minutes(1))
        self._alarm("NoWatcher", ticks, 1, _BELOW, of=3, missing=_LOUD)

    def _parts(self, functions: Functions, api: Api, database: Database) -> None:
        limits = self._limits
        five = Duration.minutes(5)
        for name, function in functions.all.items():
            errors = function.metric_errors(period=five)
            self._above(f"Errors-{name}", errors, limits.function_errors, of=1)
        throttled = cloudwatch.MathExpression(
            expression=" + ".join(f"t_{name}" for name in functions.all),
            using_metrics={
                f"t_{name}": function.metric_throttles(period=five)
                for name, function in functions.all.items()
            },
            period=five,
            label="throttled calls",
        )
        self._above("Throttles", throttled, 0, of=3)
        self._above("ServerErrors", api.api.metric_server_error(period=five), limits.server_errors)
        busy = database.cluster.metric("ACUUtilization", statistic="Average", period=five)
        self._above("DatabaseFull", busy, limits.acu_percent)

    def _bus(self, bus: Broker | Queues, set_aside: sqs.IQueue) -> None:
        waiting = set_aside.metric_approximate_number_of_messages_visible(
            period=Duration.minutes(1)
        )
        self._above("SetAside", waiting, 0, of=1)
        if isinstance(bus, Queues):
            self._ages(bus)
            return
        self._lags(bus.cluster.cluster_name)
        if not bus.express:
            self._above("BrokerDisk", self._disk(bus), self._limits.disk_percent)

    def _ages(self, bus: Queues) -> None:
        for name, topic in _LAGS.items():
            queue = bus.topics[topic.name]
            age = queue.metric_approximate_age_of_oldest_message(period=Duration.minutes(1))
            self._above(name, age, self._limits.message_age_seconds)

    def _lags(self, cluster: str) -> None:
        limits = self._limits
        events, dependencies, requests = (lag(cluster, topic.name) for topic in _LAGS.values())
        self._above("Lag", events, limits.lag)
        self._above("DependencyLag", dependencies, limits.dependency_lag)
        self._above("RequestLag", requests, 0, of=limits.request_minutes)

    def _disk(self, broker: Broker) -> cloudwatch.MathExpression:
        """The fullest broker's: each has its own disk."""
        numbers = range(1, broker.brokers + 1)
        return cloudwatch.MathExpression(
            expression="MAX([" + ", ".join(f"b{n}" for n in numbers) + "])",
            using_metrics={f"b{n}": broker.metric("KafkaDataLogsDiskUsed", n) for n in numbers},
            period=Duration.minutes(5),
            label="fullest broker's disk, percent",
        )

    def _above(self, name: str, metric: cloudwatch.IMetric, limit: float, *, of: int = 3) -> None:
        self._alarm(name, metric, limit, _ABOVE, of=of, missing=_QUIET)

    def _alarm(
        self,
        name: str,
        metric: cloudwatch.IMetric,
        limit: float,
        comparison: cloudwatch.ComparisonOperator,
        *,
        of: int,
        missing: cloudwatch.TreatMissingData,
    ) -> None:
        made = cloudwatch.Alarm(
            self,
            name,
            metric=metric,
            threshold=limit,
            comparison_operator=comparison,
            evaluation_periods=of,
            treat_missing_data=missing,
            alarm_description=f"{self._options.stack_name}: {name}. See docs/operations.md.",
        )
        made.add_alarm_action(self._tell)
        made.add_ok_action(self._tell)
