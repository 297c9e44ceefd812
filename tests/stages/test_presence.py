"""A worker's signs of life, and how it hears that a run is to stop."""

import threading
import time
from collections.abc import Collection
from datetime import timedelta
from uuid import UUID

import pytest

from lamplighter.adapters.memory.cache import MemoryCache
from lamplighter.contracts.topics import WORKER_EVENTS
from lamplighter.domain.run import Verdict
from lamplighter.ports.queue import QueueUnavailable
from lamplighter.ports.target import Context
from lamplighter.stages import presence
from lamplighter.stages.presence import Presence
from tests.stages.working import Workplace

PATIENCE = 10.0


class FragileCache(MemoryCache):
    away = False

    def cancelled(self, run_ids: Collection[UUID]) -> set[UUID]:
        if self.away:
            raise QueueUnavailable("away")
        return super().cancelled(run_ids)


class Attended(Workplace):
    def __init__(self, *, begun: bool = True) -> None:
        super().__init__()
        self.cache = FragileCache()
        self.started = threading.Event()
        self.does("endless", self._wait)
        [self.message] = self.due("endless")
        self.presence = Presence(
            self.ledger,
            self.cache,
            self.bus,
            self.runner,
            worker_id="worker",
            pool="default",
            now=self.ledger.now,
        )
        self._running = threading.Thread(target=self.executor.execute, args=[[self.message]])
        if begun:
            self.begin()

    def begin(self) -> None:
        self._running.start()
        assert self.started.wait(PATIENCE)

    def _wait(self, context: Context) -> None:
        self.started.set()
        context.sleep(PATIENCE)

    def verdict(self) -> Verdict:
        self._running.join(PATIENCE)
        [outcome] = [event.outcome for event in self.told() if event.outcome]
        return outcome.verdict


def test_a_flag_in_the_cache_stops_a_running_job() -> None:
    place = Attended()
    place.cache.flag_cancelled([place.message.run_id], timedelta(minutes=1))

    place.presence.look()

    assert place.verdict() is Verdict.CANCELLED


def test_without_the_cache_the_heartbeat_says_it() -> None:
    place = Attended()
    place.cache.away = True
    place.ledger.cancel_runs("default", [place.message.run_id])

    place.presence.look()

    assert place.verdict() is Verdict.CANCELLED


def test_a_heartbeat_that_fails_stops_nothing() -> None:
    place = Attended()
    place.ledger.away = True

    assert place.presence.look()

    place.ledger.away = False
    place.runner.cancel([place.message.run_id])
    assert place.verdict() is Verdict.CANCELLED


def test_a_run_that_begins_wakes_an_idle_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(presence, "_NAP_SECONDS", PATIENCE)
    place, napping = Attended(begun=False), threading.Event()
    placed_wait = place.runner.placed.wait

    def nap(seconds: float) -> bool:
        napping.set()
        return placed_wait(seconds)

    monkeypatch.setattr(place.runner.placed, "wait", nap)
    place.presence.start()
    assert napping.wait(PATIENCE)
    began = time.monotonic()
    place.begin()
    place.cache.flag_cancelled([place.message.run_id], timedelta(minutes=1))

    assert place.verdict() is Verdict.CANCELLED
    assert time.monotonic() - began < PATIENCE / 2
    place.presence.stop()


def test_coming_and_going_is_told() -> None:
    place = Attended()
    consumer = place.bus.consumer("test workers", [WORKER_EVENTS.name])
    place.presence.start()
    [came] = consumer.poll(10, PATIENCE)
    consumer.commit([came])
    place.presence.stop()
    place.runner.cancel([place.message.run_id])

    [went] = consumer.poll(10, PATIENCE)

    assert b"worker.registered" in came.value
    assert b"worker.stopped" in went.value
    assert place.verdict() is Verdict.CANCELLED


def thrifty(place: Workplace, cache: MemoryCache) -> Presence:
    return Presence(
        place.ledger,
        cache,
        place.bus,
        place.runner,
        worker_id="thrifty",
        pool="default",
        now=place.ledger.now,
        thrifty=True,
    )


def test_a_thrifty_worker_with_a_run_says_in_the_ledger_that_it_lives() -> None:
    place = Attended()

    thrifty(place, place.cache).look()

    assert "thrifty" in place.ledger._books.workers
    place.runner.cancel([place.message.run_id])
    assert place.verdict() is Verdict.CANCELLED


def test_an_idle_thrifty_worker_leaves_the_ledger_alone() -> None:
    place, cache = Workplace(), MemoryCache()

    thrifty(place, cache).look()

    assert "thrifty" not in place.ledger._books.workers
    assert cache.worker_statuses(["thrifty"])


def test_a_worker_with_a_run_is_kept_and_one_without_may_go() -> None:
    place = Attended()
    told: list[bool] = []
    kept = Presence(
        place.ledger,
        place.cache,
        place.bus,
        place.runner,
        worker_id="worker",
        pool="tasks",
        now=place.ledger.now,
        protect=lambda *, busy: told.append(busy),
    )
    kept.look()
    place.runner.cancel([place.message.run_id])
    place.verdict()
    kept.look()

    assert told == [True, False]
