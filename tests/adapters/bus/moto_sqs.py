"""SQS, played by moto in this process: without order, one call at a time, and soon answered."""

import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import wraps
from typing import Any, Final
from unittest.mock import patch

from moto import mock_aws
from moto.sqs import models
from moto.sqs.models import SQSBackend

# A call that waits returns after that, as a real one may; so nobody is waited for at the end.
_WAIT_SECONDS: Final = 0.2
_LOOK_SECONDS: Final = 0.005
_CALLS: Final = ("send_message", "delete_message", "change_message_visibility")
_COUNTS: Final = ("get_queue_attributes",)


@contextmanager
def playing_sqs() -> Iterator[None]:
    """moto has no locks for several readers of a queue, and keeps an order that SQS has not."""
    lock = threading.RLock()
    with mock_aws(), ExitStack() as stack:
        for name in (*_CALLS, *_COUNTS):
            locked = _locked(getattr(SQSBackend, name), lock)
            stack.enter_context(patch.object(SQSBackend, name, locked))
        # It counts all messages at each one that is sent, and asks for the time at each of them.
        stack.enter_context(patch.object(models, "unix_time_millis", lambda: time.time() * 1000))
        receive = _receiving(SQSBackend.receive_message, lock)
        stack.enter_context(patch.object(SQSBackend, "receive_message", receive))
        yield
        _wait_for_calls()


def _locked(call: Callable[..., Any], lock: threading.RLock) -> Callable[..., Any]:
    @wraps(call)
    def one_at_a_time(*arguments: Any, **options: Any) -> Any:
        with lock:
            return call(*arguments, **options)

    return one_at_a_time


def _receiving(call: Callable[..., Any], lock: threading.RLock) -> Callable[..., Any]:
    def receive(backend: Any, name: str, count: int, seconds: int, *options: Any) -> Any:
        deadline = time.monotonic() + min(seconds, _WAIT_SECONDS)
        while True:
            with lock:
                random.shuffle(backend.get_queue(name)._messages)
                found = call(backend, name, count, 0, *options)
            if found or time.monotonic() >= deadline:
                return found
            time.sleep(_LOOK_SECONDS)

    return receive


def _wait_for_calls() -> None:
    """Whoever still waits for an answer would otherwise ask the real one next."""
    for thread in threading.enumerate():
        if thread.name.startswith("sqs consumer"):
            thread.join(10)
