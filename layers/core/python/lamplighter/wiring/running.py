"""For runs: what executor, worker and recorder work with."""

import os
import threading
from typing import TYPE_CHECKING, Any, Final

from lamplighter.contracts.topics import all_topics
from lamplighter.ports.bus import Consumer
from lamplighter.settings import Bus as BusKind
from lamplighter.settings import Settings
from lamplighter.stages.aftermath import Folded
from lamplighter.stages.alert import Alarm
from lamplighter.stages.clock import this_machine
from lamplighter.stages.execute import Executor
from lamplighter.stages.measure import measure
from lamplighter.stages.presence import Presence
from lamplighter.stages.record import Recorder
from lamplighter.stages.report import Reporter
from lamplighter.stages.run import Limits, Runner
from lamplighter.stages.work import Doubts, Work
from lamplighter.wiring.around import clients, is_on_aws, process, settings, telemetry, tracer
from lamplighter.wiring.buses import bus, count_buried
from lamplighter.wiring.once import once
from lamplighter.wiring.stores import cache, clock, ledger, logs, queue, rest
from lamplighter.wiring.vault import held, secrets

if TYPE_CHECKING:
    from lamplighter.adapters.ecs_protection import TaskProtection
    from lamplighter.adapters.targets.http.courier import CourierSender
    from lamplighter.adapters.targets.http.sending import DirectSender
    from lamplighter.stages.attend import Worker

# Large ones, of one process. Lambda gives it a batch at a time anyway.
_CLAIMS_AT_ONCE: Final = 2


@once
def runner() -> Runner:
    from lamplighter.adapters.targets.command.privacy import keep_to_oneself
    from lamplighter.adapters.targets.command.target import NoCommands
    from lamplighter.adapters.targets.python.handlers import Handlers
    from lamplighter.adapters.targets.registry import Registry, all_targets

    given = settings()
    modules = [each for each in given.handler_modules.split(",") if each]
    targets = all_targets(
        handlers=Handlers(modules, modules),
        clients=clients(),
        sender=sender(),
        signing_secret=held(given.webhook_secret) if given.webhook_secret else None,
        ours=_ours(given),
    )
    if not given.commands:
        targets["command"] = NoCommands()
    elif is_on_aws():
        # A command has our user, and whoever reads our variables can have our role's credentials.
        keep_to_oneself()
    limits = Limits(places=given.places, longest_seconds=given.longest_seconds)
    return Runner(Registry(targets, _default_target()), logs(), secrets(), limits)


def _ours(given: Settings) -> list[str]:
    """The names of what this process uses itself, and where it is; of what has an ARN, its end."""
    named = (given.courier_function, given.alert_sns_topic)
    found = [each.rpartition(":")[2] for each in named if each]
    found += given.own_network()
    if given.bus is not BusKind.SQS:
        return found
    from lamplighter.adapters.sqs.queues import queue_name

    topics = all_topics(given.windows())
    return found + [queue_name(given.sqs_prefix, topic.name) for topic in topics]


@once
def sender() -> "CourierSender | DirectSender":
    """What takes webhooks out: this process itself, or the courier where there is no way out."""
    if function := settings().courier_function:
        from lamplighter.adapters.targets.http.courier import CourierSender

        return CourierSender(function, clients())
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


@once
def _crowd() -> threading.Semaphore:
    return threading.Semaphore(_CLAIMS_AT_ONCE)


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
        crowd=_crowd(),
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
        protect=_protection(),
    )


def _protection() -> "TaskProtection | None":
    """ECS tells its tasks how to keep what they work on."""
    agent = os.environ.get("ECS_AGENT_URI")
    if agent is None:
        return None
    from lamplighter.adapters.ecs_protection import TaskProtection

    return TaskProtection(agent)


def worker() -> "Worker":
    from lamplighter.contracts.topics import job_runs_topics
    from lamplighter.stages.attend import Worker
    from lamplighter.stages.capacity import executor_group

    pool = settings().pool
    topics = [topic.name for topic in job_runs_topics(pool)]
    consumer: Consumer = bus().consumer(executor_group(pool), topics)
    presence().start()
    return Worker(bus(), consumer, runner(), work(), buried=count_buried)


@once
def recorder() -> Recorder:
    return Recorder(
        ledger(),
        bus(),
        cache(),
        _alarm(),
        _follow,
        wake=rest().end if settings().thrifty else queue().wake,
        buried=count_buried,
    )


def _alarm() -> Alarm:
    from lamplighter.adapters.alerts.all import all_ways

    # Asked for when there is something to send: most processes never alert anybody.
    return Alarm(all_ways(settings(), clients, lambda request: sender().send_alone(request), held))


def _follow(folded: Folded) -> None:
    """What metrics and traces learn from a batch that was recorded."""
    measure(telemetry(), folded)
    if (traced := tracer()) is not None:
        traced.recorded(folded)
