"""What the broker is told: one node that is broker and controller, on the loopback address."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from infra.local.service import HOST

# One machine keeps one copy, and a consumer group need not wait for members that are not coming.
DEFAULTS: Final[Mapping[str, str]] = {
    "num.partitions": "4",
    "auto.create.topics.enable": "false",
    "default.replication.factor": "1",
    "offsets.topic.replication.factor": "1",
    "offsets.topic.num.partitions": "4",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "transaction.state.log.num.partitions": "4",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
    "share.coordinator.state.topic.num.partitions": "4",
    "group.initial.rebalance.delay.ms": "0",
    # For a machine of a few cores: eleven threads take twice as long, waking one another.
    "num.network.threads": "1",
    "num.io.threads": "2",
    # After a crash the node must wait until its former self counts as dead; by default 9 s.
    "broker.session.timeout.ms": "3000",
    "broker.heartbeat.interval.ms": "500",
}

# Warnings and errors to standard output, which is the service's log; the rest is a flood.
LOG4J2: Final = """\
Configuration:
  status: WARN
  shutdownHook: disable
  Appenders:
    Console:
      name: OUT
      target: SYSTEM_OUT
      PatternLayout:
        pattern: "%d{ISO8601} %p %c{1} %m%n"
  Loggers:
    Root:
      level: WARN
      AppenderRef:
        - ref: OUT
"""


def properties(
    *, broker_port: int, controller_port: int, data: Path, settings: Mapping[str, str]
) -> str:
    """The text of server.properties."""
    lines = {
        **DEFAULTS,
        **settings,
        "process.roles": "broker,controller",
        "node.id": "1",
        "controller.quorum.voters": f"1@{HOST}:{controller_port}",
        "listeners": f"BROKER://{HOST}:{broker_port},CONTROLLER://{HOST}:{controller_port}",
        "advertised.listeners": f"BROKER://{HOST}:{broker_port}",
        "listener.security.protocol.map": "BROKER:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "inter.broker.listener.name": "BROKER",
        "controller.listener.names": "CONTROLLER",
        "log.dirs": str(data),
    }
    return "".join(f"{name}={value}\n" for name, value in lines.items())
