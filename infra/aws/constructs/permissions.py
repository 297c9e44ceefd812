"""Who may do what, in one table. Nothing is granted anywhere else."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from aws_cdk import Stack
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from infra.aws.constructs.broker import Broker
from infra.aws.constructs.database import Database
from infra.aws.constructs.queues import Queues
from infra.aws.constructs.readers import READERS
from infra.aws.constructs.storage import Storage
from infra.aws.environment import COURIER, WORKER
from infra.aws.options import Options
from infra.aws.profiles import TASKS_POOL
from infra.aws.targets import allowed
from infra.local.mapping import mapped
from lamplighter.contracts.topics import JOB_EVENTS, JOB_REQUESTS, mapping_group
from lamplighter.domain.job import DEFAULT_POOL

_PUBLISH: Final = frozenset({"submit", "watcher", "executor", WORKER, "recorder", "resolver"})
_COUNT: Final = frozenset({"query", "watcher"})
# What tells of the canary; or asks for it, should the ledger leave just then.
_OF_CANARY: Final = (JOB_EVENTS.name, JOB_REQUESTS.name)
_RUN: Final = frozenset({"executor", WORKER})
# Executor and watcher do the work of the recorder where the bus is away, and alert as it would.
_ALERT: Final = frozenset({"watcher", "executor", WORKER, "recorder"})
_LOOK_UP: Final = (
    "kafka:DescribeCluster",
    "kafka:DescribeClusterV2",
    "kafka:GetBootstrapBrokers",
)


class Permissions(Construct):
    def __init__(
        self,
        scope: Construct,
        name: str,
        options: Options,
        *,
        database: Database,
        storage: Storage,
        bus: Broker | Queues,
        courier: lambda_.IFunction,
        tasks: ecs.ICluster,
    ) -> None:
        super().__init__(scope, name)
        self._options = options
        self._database = database
        self._storage = storage
        self._bus = bus
        self._courier = courier
        self._tasks = tasks

    def grant(self, function: str, who: iam.IGrantable) -> None:
        if function == COURIER:
            return
        self._database.let_connect(function, who)
        self._grant_bus(self._bus, function, who)
        if function == "query":
            self._allow(who, ["s3:GetObject"], [self._log_objects()])
        if function in _RUN:
            self._allow(who, ["s3:PutObject", "s3:AbortMultipartUpload"], [self._log_objects()])
            for each in allowed(self._options.targets):
                self._allow(who, each.actions, each.arns, each.conditions)
        if function == WORKER:
            self._grant_own_task(who)
        if function in _ALERT:
            self._allow(who, ["lambda:InvokeFunction"], [self._courier.function_arn])
            self._allow(who, ["sns:Publish"], [self._storage.alerts.topic_arn])
            # The topic is encrypted, and whoever publishes needs its key.
            self._allow(who, ["kms:Decrypt", "kms:GenerateDataKey"], [self._storage.key.key_arn])
            self._grant_secrets(function, who)

    def _grant_own_task(self, who: iam.IGrantable) -> None:
        # So that scaling in takes none that works.
        keep = ["ecs:GetTaskProtection", "ecs:UpdateTaskProtection"]
        self._allow(who, keep, [self._own_tasks()])
        if self._options.profile.trace_one_in:
            # X-Ray's calls know no resource; Lambda's functions have this by being traced.
            self._allow(who, ["xray:PutTraceSegments"], ["*"])

    def _grant_bus(self, bus: Broker | Queues, function: str, who: iam.IGrantable) -> None:
        if function in _PUBLISH:
            bus.let_publish(who)
        if function in _COUNT:
            bus.let_count(who)
        if function == "migrate":
            bus.let_make_topics(who)
            bus.let_publish(who, _OF_CANARY)
        if function in READERS:
            read = mapped(function, DEFAULT_POOL)
            groups = [mapping_group(read.group, topic) for topic in read.topics]
            bus.let_read(who, read.topics, groups)
        if function in READERS and isinstance(bus, Broker):
            bus.let_map(who)
            # The mapping looks the cluster up as the function that it calls.
            self._allow(who, _LOOK_UP, [bus.arn])
        if function == WORKER:
            read = mapped("executor", TASKS_POOL)
            bus.let_read(who, read.topics, [read.group])

    def _grant_secrets(self, function: str, who: iam.IGrantable) -> None:
        options = self._options
        if not options.profile.network.secrets:
            return
        # AWS puts six characters of its own behind a name.
        names = [f"{each}-??????" for each in _by_name(options)]
        if function in _RUN:
            names.append(f"{options.stack_name}/*")  # of this cell's tenants: `<tenant>/<name>`
        arns = [self._secret(name) for name in names] + _by_arn(options)
        if arns:
            self._allow(who, ["secretsmanager:GetSecretValue"], arns)

    def _secret(self, name: str) -> str:
        arn = Stack.of(self).format_arn(service="secretsmanager", resource=f"secret:{name}")
        return str(arn)

    def _own_tasks(self) -> str:
        name = f"{self._tasks.cluster_name}/*"
        return str(Stack.of(self).format_arn(service="ecs", resource="task", resource_name=name))

    def _log_objects(self) -> str:
        return str(self._storage.logs.arn_for_objects("logs/*"))

    def _allow(
        self,
        who: iam.IGrantable,
        actions: Sequence[str],
        arns: Sequence[str],
        conditions: Mapping[str, Mapping[str, Any]] | None = None,
    ) -> None:
        iam.Grant.add_to_principal(
            grantee=who, actions=list(actions), resource_arns=list(arns), conditions=conditions
        )


def _named_secrets(options: Options) -> list[str]:
    return [each for each in (options.webhook_secret, options.pagerduty_secret) if each]


def _by_name(options: Options) -> list[str]:
    return [each for each in _named_secrets(options) if not each.startswith("arn:")]


def _by_arn(options: Options) -> list[str]:
    return [each for each in _named_secrets(options) if each.startswith("arn:")]
