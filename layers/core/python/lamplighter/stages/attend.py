"""Attend: a long-lived worker reads its pool's topics, claims, commits, and only then runs.

So a run of any length holds no partition, and what was claimed is never delivered again. Fargate
and a local process work like this; Lambda's executor is called with its batch instead.
"""

import logging
import threading
import time
from collections.abc import Callable, Sequence
from typing import Final

import msgspec

from lamplighter.contracts.dead_letters import dead_letter
from lamplighter.contracts.messages import RunMessage, read_run
from lamplighter.domain.errors import LedgerUnavailable
from lamplighter.fail_points import FailPoint, fail_point
from lamplighter.ports.bus import Bus, BusUnavailable, Consumer, Record
from lamplighter.stages.run import Runner
from lamplighter.stages.work import Work

_log: Final = logging.getLogger("lamplighter.worker")
_POLL_SECONDS: Final = 2.0
_LOOK_SECONDS: Final = 0.02
_PAUSE_SECONDS: Final = 0.5


class Worker:
    def __init__(
        self,
        bus: Bus,
        consumer: Consumer,
        runner: Runner,
        work: Work,
        *,
        buried: Callable[[int], None] = lambda _: None,
    ) -> None:
        """`buried` is told of dead letters."""
        self._bus, self._consumer, self._runner, self._work = bus, consumer, runner, work
        self._buried = buried
        self._stopping = threading.Event()

    def stop(self) -> None:
        """From any thread: take nothing more."""
        self._stopping.set()

    def attend(self, grace_seconds: float) -> None:
        """Work until told to stop, or past saving; then what runs has so long to end."""
        reporting = threading.Thread(target=self._report, name="report", daemon=True)
        reporting.start()
        while not (self._stopping.is_set() or self._runner.exhausted):
            self._turn()
        end = time.monotonic() + grace_seconds
        self._leave()
        self._runner.close()
        while self._work.open and time.monotonic() < end:
            time.sleep(_LOOK_SECONDS)

    def _leave(self) -> None:
        """At once: what comes to its partitions would wait for the runs that still end here."""
        try:
            self._consumer.close()
        except Exception:  # noqa: BLE001 - those runs are still to end, and to be told of
            _log.exception("the group was not left")

    def _turn(self) -> None:
        free = self._runner.free
        if not free:
            self._stopping.wait(_LOOK_SECONDS)
            return
        records = self._consumer.poll(free, _POLL_SECONDS)
        try:
            self._begin(records)
        except (BusUnavailable, LedgerUnavailable) as away:
            _log.warning("%d runs not claimed: %s", len(records), away)
            self._consumer.rewind(records)
            self._stopping.wait(_PAUSE_SECONDS)

    def _begin(self, records: Sequence[Record]) -> None:
        messages = self._read(records)
        if messages:
            self._work.begin(messages, lambda: self._commit(records))
        else:
            self._commit(records)

    def _read(self, records: Sequence[Record]) -> list[RunMessage]:
        """What can be read; the rest is put aside for a person to look at."""
        messages: list[RunMessage] = []
        for record in records:
            try:
                messages.append(read_run(record.value))
            except msgspec.MsgspecError as problem:
                self._bus.publish([dead_letter(record, str(problem), "worker")])
                fail_point(FailPoint.BURY_PUBLISHED)
                self._buried(1)
        return messages

    def _commit(self, records: Sequence[Record]) -> None:
        try:
            if records:
                self._consumer.commit(records)
        except BusUnavailable as away:
            # They come again, and the claim refuses them. Until then their partitions are quiet.
            _log.warning("%d messages not committed: %s", len(records), away)
            self._consumer.rewind(records)
        fail_point(FailPoint.CLAIM_COMMITTED)

    def _report(self) -> None:
        while True:
            try:
                self._work.report(None)
            except Exception:  # noqa: BLE001 - the other runs still have to be told of
                _log.exception("outcomes could not be reported")
