"""When Valkey is away, slow or full: one error, in bounded time, and nothing lost by it."""

import socket
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
import valkey

from infra.local.valkey import Valkey
from lamplighter.adapters.valkey.cache import ValkeyCache
from lamplighter.adapters.valkey.client import Client
from lamplighter.adapters.valkey.queue import ValkeyQueue
from lamplighter.ports.cache import JobStatus
from lamplighter.ports.queue import Queue, QueueUnavailable
from tests.adapters.queue.builders import NOON, PLENTY, at, ready, run
from tests.adapters.queue.stores import valkey_store

MINUTE = timedelta(minutes=1)
CALLS: dict[str, Callable[[ValkeyQueue, ValkeyCache], object]] = {
    "begin": lambda queue, _: queue.begin(1, NOON, NOON),
    "loaded": lambda queue, _: queue.loaded(1, NOON),
    "add": lambda queue, _: queue.add([run()]),
    "remove": lambda queue, _: queue.remove([uuid4()]),
    "holds": lambda queue, _: queue.holds([uuid4()]),
    "tick": lambda queue, _: queue.tick(1, NOON, PLENTY, 10),
    "published": lambda queue, _: queue.published(1, [ready(run())]),
    "take_over": lambda queue, _: queue.take_over(1),
    "keep_paces": lambda queue, _: queue.keep_paces({"default": 1.0}),
    "paces": lambda queue, _: queue.paces(),
    "next_due": lambda queue, _: queue.next_due(),
    "depth": lambda queue, _: queue.depth(NOON),
    "counts": lambda queue, _: queue.counts(),
    "wake": lambda queue, _: queue.wake(),
    "sleep": lambda queue, _: queue.sleep(1),
    "put_job_statuses": lambda _, cache: cache.put_job_statuses([JobStatus(uuid4(), 1, 1, 1, b"")]),
    "job_statuses": lambda _, cache: cache.job_statuses([uuid4()]),
    "put_worker_statuses": lambda _, cache: cache.put_worker_statuses({"w": b""}),
    "flag_cancelled": lambda _, cache: cache.flag_cancelled([uuid4()], MINUTE),
    "forget_api_key": lambda _, cache: cache.forget_api_key("k"),
}
every_call = pytest.mark.parametrize("call", CALLS.values(), ids=CALLS.keys())


class BadLine(Client):
    """Loses the connection when told to: before the server hears, or before it answers."""

    lose_questions = 0
    lose_answers = 0

    def _run(self, *given: Any) -> Any:
        if self.lose_questions:
            self.lose_questions -= 1
            raise valkey.ConnectionError("cut")
        answer = super()._run(*given)
        if self.lose_answers:
            self.lose_answers -= 1
            raise valkey.ConnectionError("cut")
        return answer


@pytest.fixture
def line(valkey_server: Valkey) -> Iterator[BadLine]:
    client = BadLine(valkey_server.url)
    valkey_store(client).queue.begin(1, NOON, NOON)
    yield client
    client.close()


@pytest.fixture
def deaf_port() -> Iterator[int]:
    """Takes connections, and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


@every_call
def test_nobody_there_is_one_error(call: Callable[..., object]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    client = Client(f"valkey://127.0.0.1:{port}/0")
    with pytest.raises(QueueUnavailable):
        call(ValkeyQueue(client), ValkeyCache(client))


@every_call
def test_no_answer_is_the_same_error_in_time(call: Callable[..., object], deaf_port: int) -> None:
    client = Client(f"valkey://127.0.0.1:{deaf_port}/0", timeout=0.05)
    started = time.monotonic()
    with pytest.raises(QueueUnavailable):
        call(ValkeyQueue(client), ValkeyCache(client))
    assert time.monotonic() - started < 2


def test_a_full_store_is_the_same_error(valkey_client: Client) -> None:
    queue = valkey_store(valkey_client).queue
    queue.begin(1, NOON, NOON)
    valkey_client.ask("CONFIG", "SET", "maxmemory", "1")
    try:
        with pytest.raises(QueueUnavailable, match="memory"):
            queue.add([run()])
    finally:
        valkey_client.ask("CONFIG", "SET", "maxmemory", "0")
    queue.add([run()])


def test_a_lost_connection_is_tried_once_more(line: BadLine) -> None:
    queue = ValkeyQueue(line)
    line.lose_questions = 1
    queue.add([run()])
    assert queue.counts().runs == 1
    line.lose_questions = 2
    with pytest.raises(QueueUnavailable):
        queue.add([run()])


def test_an_add_whose_answer_was_lost_adds_once(line: BadLine) -> None:
    queue = ValkeyQueue(line)
    line.lose_answers = 1
    queue.add([run()])
    assert len(queue.tick(1, at(0), PLENTY, 10).runs) == 1


def test_a_tick_whose_answer_was_lost_is_answered_by_the_next(line: BadLine) -> None:
    queue, due = ValkeyQueue(line), run()
    queue.add([due])
    line.lose_answers = 1
    with pytest.raises(QueueUnavailable):
        queue.tick(1, at(0), PLENTY, 10)
    again = queue.tick(1, at(0), PLENTY, 10)
    assert (again.runs, again.more) == ([ready(due)], True)
    queue.published(1, again.runs)
    assert queue.tick(1, at(0), PLENTY, 10).runs == []


def test_connections_that_the_server_closed_are_opened_again(valkey_client: Client) -> None:
    queue = valkey_store(valkey_client).queue
    queue.begin(1, NOON, NOON)
    queue.sleep(0)
    _close_all_others(valkey_client)
    queue.add([run()])
    assert len(queue.tick(1, at(0), PLENTY, 10).runs) == 1


def test_a_sleep_that_lost_its_connection_says_so_and_the_next_looks_again(
    valkey_client: Client,
) -> None:
    queue = valkey_store(valkey_client).queue
    while queue.sleep(0.2):
        pass
    _close_all_others(valkey_client)
    with pytest.raises(QueueUnavailable):
        queue.sleep(5)
    assert queue.sleep(5) is True


def _close_all_others(client: Client) -> None:
    client.ask("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
    client.ask("CLIENT", "KILL", "TYPE", "pubsub")


def test_scripts_that_the_server_forgot_are_sent_again(queue: Queue, valkey_client: Client) -> None:
    valkey_client.ask("SCRIPT", "FLUSH")
    queue.add([run()])
    assert len(queue.tick(1, at(0), PLENTY, 10).runs) == 1
