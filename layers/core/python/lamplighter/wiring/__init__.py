"""The one place where adapters are built from settings: lazily, once per process.

Drivers take longer to import than all the rest, so each is imported by the part that needs it: a
function that only reads starts without Kafka's.
"""

from lamplighter.wiring.around import process, settings, telemetry, tracer
from lamplighter.wiring.buses import answer, bury, bus
from lamplighter.wiring.handling import invoked, spared
from lamplighter.wiring.leading import watcher
from lamplighter.wiring.once import flush, forget
from lamplighter.wiring.running import executor, messenger, presence, recorder, runner, work, worker
from lamplighter.wiring.serving import authorizer, desk, keyring, tenant_claim
from lamplighter.wiring.stores import (
    address,
    admin_database,
    api_keys,
    cache,
    clock,
    database,
    ledger,
    logs,
    queue,
)
from lamplighter.wiring.vault import held, secrets

__all__ = [
    "address",
    "admin_database",
    "answer",
    "api_keys",
    "authorizer",
    "bury",
    "bus",
    "cache",
    "clock",
    "database",
    "desk",
    "executor",
    "flush",
    "forget",
    "held",
    "invoked",
    "keyring",
    "ledger",
    "logs",
    "messenger",
    "presence",
    "process",
    "queue",
    "recorder",
    "runner",
    "secrets",
    "settings",
    "spared",
    "telemetry",
    "tenant_claim",
    "tracer",
    "watcher",
    "work",
    "worker",
]
