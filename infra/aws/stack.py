"""The stack: it only joins constructs. One per cell; scaling past it is another cell."""

from dataclasses import replace

from aws_cdk import App, CfnOutput, Environment, Stack
from constructs import Construct

from infra.aws.constructs.accepted import accept
from infra.aws.constructs.alarms import Alarms
from infra.aws.constructs.api import Api
from infra.aws.constructs.broker import Broker
from infra.aws.constructs.cache import Cache
from infra.aws.constructs.dashboard import Dashboard
from infra.aws.constructs.database import Database
from infra.aws.constructs.fence import Fence
from infra.aws.constructs.functions import Functions
from infra.aws.constructs.mappings import Mappings
from infra.aws.constructs.metrics import Metrics
from infra.aws.constructs.network import Network
from infra.aws.constructs.permissions import Permissions
from infra.aws.constructs.queues import Queues
from infra.aws.constructs.schedule import Schedule
from infra.aws.constructs.schema import Schema
from infra.aws.constructs.storage import Storage
from infra.aws.constructs.tasks import Tasks
from infra.aws.environment import COURIER, WORKER, Surroundings, environment
from infra.aws.options import Options


def build(app: App, options: Options) -> Stack:
    """One stack: what is joined across two can neither change its exports nor share a key."""
    stack = Stack(
        app,
        options.stack_name,
        description=f"Lamplighter, {options.profile.name}: cell {options.cell}",
        env=Environment(region=options.region),
        termination_protection=options.profile.protected,
    )
    storage = Storage(stack, "Storage", options)
    network = Network(stack, "Network", options, storage.logs)
    database = Database(stack, "Database", options, network, storage)
    cache = Cache(stack, "Cache", options.profile, network, storage)
    bus = _bus(stack, options, network, storage)
    functions = Functions(stack, "Functions", options, network)
    metrics = Metrics(options.cell)

    around = _surroundings(
        options,
        functions,
        network=network,
        storage=storage,
        database=database,
        cache=cache,
        bus=bus,
    )
    for name in _inside(options):
        own = replace(around, database_url=database.url(name))
        functions.add(name, environment(name, options, own))
    tasks = Tasks(
        stack,
        "Tasks",
        options,
        network=network,
        variables=environment(WORKER, options, around),
        metrics=metrics,
    )
    permissions = Permissions(
        stack,
        "Permissions",
        options,
        database=database,
        storage=storage,
        bus=bus,
        courier=functions[COURIER],
        tasks=tasks.service.cluster,
    )
    for name, function in functions.all.items():
        permissions.grant(name, function)
    permissions.grant(WORKER, tasks.definition.task_role)

    schema = Schema(stack, "Schema", options, functions=functions, bus=bus, database=database.ready)
    api = Api(stack, "Api", options, functions)
    Schedule(stack, "Schedule", functions["watcher"], schema.applied)
    mappings = Mappings(
        stack, "Mappings", options, functions=functions, bus=bus, ready=schema.applied
    )
    tasks.wait_for(schema.applied)
    Alarms(
        stack, "Alarms", options, metrics=metrics, storage=storage, functions=functions,
        api=api, bus=bus, database=database, set_aside=mappings.set_aside,
    )  # fmt: skip
    Dashboard(stack, "Dashboard", options, metrics=metrics, functions=functions, bus=bus)
    Fence(
        stack,
        "Fence",
        around=[functions["executor"].role, tasks.definition.task_role],
        courier=functions[COURIER],
        tasks=tasks.definition,
    )
    _outputs(stack, storage, database, functions)
    accept(stack, options)
    return stack


def _bus(scope: Construct, options: Options, network: Network, storage: Storage) -> Broker | Queues:
    size = options.profile.broker
    if size is None:
        return Queues(scope, "Queues", options)
    return Broker(scope, "Broker", options.profile, size, network=network, storage=storage)


def _inside(options: Options) -> list[str]:
    """Every function but the courier, which is there first; keys need somebody who checks them."""
    return [
        name
        for name in options.profile.functions
        if name != COURIER and (name != "authorizer" or options.auth == "api-key")
    ]


def _surroundings(
    options: Options,
    functions: Functions,
    *,
    network: Network,
    storage: Storage,
    database: Database,
    cache: Cache,
    bus: Broker | Queues,
) -> Surroundings:
    nothing = Surroundings("", "", None, None, "", "", "", ())
    courier = functions.add(COURIER, environment(COURIER, options, nothing))
    return Surroundings(
        database_url=database.url(WORKER),
        valkey_url=cache.url,
        kafka_servers=bus.servers if isinstance(bus, Broker) else None,
        sqs_prefix=bus.prefix if isinstance(bus, Queues) else None,
        log_bucket=storage.logs.bucket_name,
        alerts=storage.alerts.topic_arn,
        courier=courier.function_name,
        subnets=network.subnet_ids(),
    )


def _outputs(stack: Stack, storage: Storage, database: Database, functions: Functions) -> None:
    found = {
        "LogBucket": storage.logs.bucket_name,
        "AlertTopic": storage.alerts.topic_arn,
        "DatabaseHost": database.cluster.cluster_endpoint.hostname,
    }
    # Who calls one by hand, as `lamplighter keys --function` does, needs its name.
    for name, function in functions.all.items():
        found[f"{name.capitalize()}Function"] = function.function_name
    for name, value in found.items():
        CfnOutput(stack, name, value=value)
