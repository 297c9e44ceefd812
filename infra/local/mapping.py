"""Stands in for Lambda's Kafka mapping: reads topics, and calls a function with what it finds.

Its rules are the mapping's. One batch of a partition at a time. What a handler names as failed
comes again, with everything behind it, for as long as it takes. A handler that raises is broken by
its batch: the batch is halved until a single record is left, and that one, after a few tries,
becomes a dead letter. A handler that exits ends the process, and its batch goes to the next one.
"""

import importlib
import logging
import signal
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from typing import Any, Final

import msgspec

from infra.local.lambdas import Context
from lamplighter import wiring
from lamplighter.contracts.dead_letters import dead_letter
from lamplighter.contracts.msk import event_of, settle
from lamplighter.contracts.topics import (
    DEPENDENCY_EVENTS,
    JOB_EVENTS,
    JOB_REQUESTS,
    WORKER_EVENTS,
    job_runs_topics,
)
from lamplighter.domain.errors import LamplighterError
from lamplighter.ports.bus import Bus, Consumer, Place, Record
from lamplighter.stages.capacity import executor_group

_log: Final = logging.getLogger("lamplighter.mapping")
# What is published ends a poll at once; this is how long a stop may take to be noticed.
_POLL_SECONDS: Final = 2.0
# After a failure, before the same records are delivered again.
_PAUSE_SECONDS: Final = 0.5
_TRIES: Final = 3

# After a batch of so many bytes, the next is worth waiting for: the more, the less each costs.
_MUCH: Final = 40_000
_TOGETHER: Final = 0.1

_GRACE_SECONDS: Final = 5.0

Handler = Callable[[dict[str, Any], Any], object]


class Mapped(msgspec.Struct, frozen=True):
    """A function and what it reads.

    `apart`: each partition's batch is a call of its own, beside the others, since it may take
    long. Otherwise all that was found is one call: the larger the batch, the cheaper. `busiest` has
    a reader of its own: the members of a group share partitions, and it does not matter to them
    of which topic.
    """

    function: str
    group: str
    topics: tuple[str, ...]
    batch: int = 1_000
    apart: bool = False
    at_once: int = 64
    busiest: str | None = None

    def readers(self, number: int = 1) -> list["Mapped"]:
        """Of the process of that number: the first of several reads what is quiet, too."""
        if self.busiest is None:
            return [self]
        quiet = tuple(topic for topic in self.topics if topic != self.busiest)
        read = [(self.busiest,), quiet] if number == 1 else [(self.busiest,)]
        return [msgspec.structs.replace(self, topics=topics) for topics in read]


class Mapping:
    def __init__(self, mapped: Mapped, bus: Bus, handler: Handler) -> None:
        self._mapped = mapped
        self._bus = bus
        self._handler = handler
        self._consumer: Consumer = bus.consumer(mapped.group, list(mapped.topics))
        self._room = threading.Semaphore(mapped.at_once)
        self._stopping = threading.Event()

    def stop(self) -> None:
        self._stopping.set()

    def serve(self, grace_seconds: float) -> None:
        """Until told to stop; then what was begun has so long to end, and the group is left."""
        while not self._stopping.is_set():
            records = self._consumer.poll(self._mapped.batch, _POLL_SECONDS)
            if not self._mapped.apart:
                self._deliver(records)
                if sum(len(each.value) for each in records) >= _MUCH:
                    self._stopping.wait(_TOGETHER)
                continue
            for batch in _by_partition(records):
                self._room.acquire()
                # Of the demon kind: a run that does not end must not keep the process.
                threading.Thread(target=self._deliver_apart, args=[batch], daemon=True).start()
        end = time.monotonic() + grace_seconds
        for _ in range(self._mapped.at_once):
            self._room.acquire(timeout=max(0.0, end - time.monotonic()))
        self._consumer.close()

    def _deliver_apart(self, batch: list[Record]) -> None:
        try:
            self._deliver(batch)
        except SystemExit as wanted:  # Lambda would replace the process; here the stack does
            _log.warning("%s ends: %s", self._mapped.function, wanted)
            self.stop()
        except Exception:  # noqa: BLE001 - the other partitions go on
            _log.exception("a batch of %s could not be settled", self._mapped.function)
        finally:
            self._room.release()

    def _deliver(self, records: Sequence[Record]) -> None:
        """Call the function, and settle every record: committed, rewound or a dead letter."""
        if not records:
            return
        done, again = self._call(records)
        try:
            if done:
                self._consumer.commit(done)
        except LamplighterError as away:
            _log.warning("%d records of %s come again: %s", len(done), self._mapped.function, away)
            self._consumer.rewind(done)
        if again:
            self._stopping.wait(_PAUSE_SECONDS)
            self._consumer.rewind(again)

    def _call(self, records: Sequence[Record]) -> tuple[list[Record], list[Record]]:
        """Those that are done, and those that must come again."""
        try:
            settlement = settle(records, self._invoke(records))
        except Exception as problem:  # noqa: BLE001 - as Lambda does
            _log.exception("%s broke over %d records", self._mapped.function, len(records))
            if len(records) == 1:
                return self._give_up(records[0], problem)
            return self._halve(records)
        return settlement.done, settlement.again

    def _halve(self, records: Sequence[Record]) -> tuple[list[Record], list[Record]]:
        done: list[Record] = []
        again: list[Record] = []
        for half in (records[: len(records) // 2], records[len(records) // 2 :]):
            behind = {each.place for each in again}
            # Behind a record that comes again, its partition waits: order is kept.
            first = [each for each in half if each.place not in behind]
            again += [each for each in half if each.place in behind]
            if first:
                more_done, more_again = self._call(first)
                done += more_done
                again += more_again
        return done, again

    def _give_up(self, record: Record, problem: Exception) -> tuple[list[Record], list[Record]]:
        """A few tries more, since it may have been a moment's trouble; then put it aside."""
        for _ in range(_TRIES - 1):
            time.sleep(_PAUSE_SECONDS)
            try:
                settlement = settle([record], self._invoke([record]))
            except Exception as again:  # noqa: BLE001 - what broke it is told with the letter
                problem = again
                continue
            return settlement.done, settlement.again
        try:
            why = f"{type(problem).__name__}: {problem}"
            self._bus.publish([dead_letter(record, why, self._mapped.function)])
        except LamplighterError as away:
            _log.warning("a dead letter could not be kept, so it comes again: %s", away)
            return [], [record]
        return [record], []

    def _invoke(self, records: Sequence[Record]) -> object:
        return self._handler(event_of(records), Context(self._mapped.function))


def mapped(function: str, pool: str) -> Mapped:
    """What each function reads; the same on AWS (infra/aws)."""
    if function == "executor":
        topics = tuple(topic.name for topic in job_runs_topics(pool))
        return Mapped(function, executor_group(pool), topics, batch=2_000, apart=True)
    if function == "recorder":
        topics = (JOB_EVENTS.name, JOB_REQUESTS.name, WORKER_EVENTS.name)
        return Mapped(function, function, topics, batch=400, busiest=JOB_EVENTS.name)
    if function == "resolver":
        return Mapped(function, function, (DEPENDENCY_EVENTS.name,), batch=4_000)
    raise ValueError(f"{function} reads no topic")


_WARM: Final[dict[str, Callable[[], object]]] = {
    "executor": wiring.executor,
    "recorder": wiring.recorder,
    "resolver": wiring.ledger,
}


def main(function: str, ready: Callable[[], None] = lambda: None, *, number: int = 1) -> None:
    """Serve one function until SIGTERM, as the process of that number."""
    handler = importlib.import_module(f"functions.{function}.handler").handler
    _WARM[function]()  # imports and connections: the first job should not wait for them
    reads = mapped(function, wiring.settings().pool)
    mappings = [Mapping(each, wiring.bus(), handler) for each in reads.readers(number)]

    def stop(*_: object) -> None:
        for mapping in mappings:
            mapping.stop()

    for asked_to_end in (signal.SIGTERM, signal.SIGINT):
        signal.signal(asked_to_end, stop)
    ready()
    _serve_all(mappings, stop)


def _serve_all(mappings: Sequence[Mapping], stop: Callable[[], None]) -> None:
    """One that breaks ends them all: the stack starts the process again."""
    with ThreadPoolExecutor(len(mappings)) as threads:
        serving = [threads.submit(mapping.serve, _GRACE_SECONDS) for mapping in mappings]
        wait(serving, return_when=FIRST_EXCEPTION)
        stop()
    for each in serving:
        each.result()


def _by_partition(records: Sequence[Record]) -> list[list[Record]]:
    found: dict[Place, list[Record]] = defaultdict(list)
    for record in records:
        found[record.place].append(record)
    return list(found.values())
