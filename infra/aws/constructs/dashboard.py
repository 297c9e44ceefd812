"""One page in CloudWatch: is it on time, what waits, what fails, and which part is to blame."""

from aws_cdk import aws_cloudwatch as cloudwatch
from constructs import Construct

from infra.aws.constructs.broker import Broker
from infra.aws.constructs.functions import Functions
from infra.aws.constructs.metrics import Metrics, lag
from infra.aws.constructs.queues import Queues
from infra.aws.options import Options
from lamplighter.contracts.topics import DEPENDENCY_EVENTS, JOB_EVENTS, JOB_REQUESTS
from lamplighter.domain.policy import JobClass
from lamplighter.telemetry.metrics import (
    BACKLOG,
    CANARY_LATENESS,
    DEAD_LETTERS,
    DURATION,
    EXECUTIONS,
    FAILURES,
    LEADER_CHANGES,
    OLDEST_DUE,
    QUEUE_DEPTH,
    REQUESTS_DEFERRED,
    START_LATENESS,
)

_WATCHED = (JOB_EVENTS, DEPENDENCY_EVENTS, JOB_REQUESTS)


class Dashboard(Construct):
    def __init__(
        self,
        scope: Construct,
        name: str,
        options: Options,
        *,
        metrics: Metrics,
        functions: Functions,
        bus: Broker | Queues,
    ) -> None:
        super().__init__(scope, name)
        self._pools = list(options.profile.windows)
        self._canary_seconds = options.profile.canary_seconds
        cloudwatch.Dashboard(
            self,
            "Page",
            widgets=[
                self._on_time(metrics),
                self._outcomes(metrics),
                self._parts(functions, bus),
            ],
        )

    def _on_time(self, metrics: Metrics) -> list[cloudwatch.IWidget]:
        classes = [
            metrics.of(START_LATENESS, "p99", Pool=self._pools[0], Class=each.name)
            for each in JobClass
        ]
        canary = metrics.of(CANARY_LATENESS, "Maximum", seconds=self._canary_seconds)
        return [
            _graph("Start lateness, p99, ms", [metrics.of(START_LATENESS, "p99"), *classes]),
            _graph("Oldest due run, s", [metrics.of(OLDEST_DUE, "Maximum")]),
            _graph("Canary, ms late", [canary]),
        ]

    def _outcomes(self, metrics: Metrics) -> list[cloudwatch.IWidget]:
        waiting = [metrics.of(BACKLOG, "Maximum", Pool=pool) for pool in self._pools]
        counts = (EXECUTIONS, FAILURES, DEAD_LETTERS, REQUESTS_DEFERRED, LEADER_CHANGES)
        return [
            _graph("Waiting", [metrics.of(QUEUE_DEPTH, "Maximum"), *waiting]),
            _graph("Runs and what went wrong", [metrics.of(each, "Sum") for each in counts]),
            _graph("Duration, ms", [metrics.of(DURATION, each) for each in ("p50", "p99")]),
        ]

    def _parts(self, functions: Functions, bus: Broker | Queues) -> list[cloudwatch.IWidget]:
        every = functions.all.values()
        return [
            _graph("Calls", [each.metric_invocations() for each in every]),
            _graph("Errors", [each.metric_errors() for each in every]),
            _graph("Not read yet", [_unread(bus, topic.name) for topic in _WATCHED]),
        ]


def _unread(bus: Broker | Queues, topic: str) -> cloudwatch.IMetric:
    if isinstance(bus, Broker):
        return lag(bus.cluster.cluster_name, topic)
    return bus.topics[topic].metric_approximate_number_of_messages_visible()


def _graph(title: str, metrics: list[cloudwatch.IMetric]) -> cloudwatch.GraphWidget:
    return cloudwatch.GraphWidget(title=title, left=metrics, width=8)
