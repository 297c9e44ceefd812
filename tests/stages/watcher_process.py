"""A watcher in a process of its own, to be killed, stopped and continued."""

import sys

import msgspec

from lamplighter.adapters.postgres.ledger import PostgresLedger
from lamplighter.adapters.streams.bus import StreamsBus
from lamplighter.adapters.valkey.client import Client
from lamplighter.adapters.valkey.queue import ValkeyQueue
from lamplighter.stages.capacity import Window
from lamplighter.stages.watch import Watcher

if __name__ == "__main__":
    database, valkey, holder, seconds = sys.argv[1:]
    bus = StreamsBus(valkey)
    watcher = Watcher(
        PostgresLedger(database),
        ValkeyQueue(Client(valkey)),
        bus,
        holder=holder,
        window=Window(bus, {"default": 100}),
    )
    report = watcher.watch(float(seconds))
    sys.stdout.write(msgspec.json.encode(report).decode())
