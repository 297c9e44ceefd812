"""Calls to SQS: several at once, each again while that may help, all of them within their time."""

import logging
import time
from collections.abc import Callable, Container, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import contextmanager
from typing import Any, Final, TypeVar

from botocore.exceptions import BotoCoreError, ClientError

from lamplighter.adapters.targets.aws.calls import code_of, is_passing
from lamplighter.ports.bus import BusUnavailable, UnknownTopic

T = TypeVar("T")

log: Final = logging.getLogger("lamplighter.sqs")

# What one call may carry: entries, and bytes of all of them together.
MOST_ENTRIES: Final = 10
MOST_BYTES: Final = 1024 * 1024
AWAY: Final = (BotoCoreError, ClientError)

_NO_SUCH_QUEUE: Final = {"AWS.SimpleQueueService.NonExistentQueue", "QueueDoesNotExist"}
# A call that hangs is given up a little after its own time: its own reason is the better one.
_GRACE_SECONDS: Final = 0.2
_PAUSE_SECONDS: Final = 0.05
# Why a message that was in hand is not settled any more: it was deleted, or went to another.
GONE: Final = frozenset({"ReceiptHandleIsInvalid", "InvalidParameterValue", "MessageNotInflight"})


class Calls:
    """A few threads that wait for answers. A call that nobody waits for any more ends by itself."""

    def __init__(self, name: str, threads: int) -> None:
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix=name)

    def start(self, call: Callable[[], object]) -> None:
        self._pool.submit(call)

    def each(self, calls: Sequence[Callable[[], T]], deadline: float) -> list[T]:
        """All of their answers, or the first error."""
        futures = [self._pool.submit(call) for call in calls]
        patience = max(0.0, deadline + _GRACE_SECONDS - time.monotonic())
        ended, late = wait(futures, patience, FIRST_EXCEPTION)
        for future in late:
            future.cancel()
        for future in ended:
            if problem := future.exception():
                raise problem
        if late:
            raise BusUnavailable(f"SQS did not answer {len(late)} of {len(futures)} calls in time")
        return [future.result() for future in futures]

    def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)


def insist(call: Callable[[], T], deadline: float) -> T:
    """Again and again while SQS is away or throttles, until time is up."""
    pause = _PAUSE_SECONDS
    while True:
        try:
            with translated():
                return call()
        except _Passing as passing:
            if time.monotonic() + pause > deadline:
                raise BusUnavailable(str(passing)) from None
        time.sleep(pause)
        pause = min(2 * pause, 1.0)


def each_entry(
    call: Callable[[list[dict[str, Any]]], dict[str, Any]],
    entries: Sequence[dict[str, Any]],
    deadline: float,
    harmless: Container[str] = (),
) -> None:
    """One batch call, and again for those entries that it names as failed. All, or an error.

    What was sent may have arrived although its answer did not: it is then there twice. A failure
    whose code is `harmless` is none.
    """
    left = {entry["Id"]: entry for entry in entries}
    while left:
        asked = list(left.values())
        answer = insist(lambda: call(asked), deadline)  # noqa: B023
        failed = [each for each in answer.get("Failed", []) if _code(each) not in harmless]
        left = {each["Id"]: left[each["Id"]] for each in failed}
        if any(each["SenderFault"] for each in failed) or (left and time.monotonic() > deadline):
            why = failed[0].get("Message") or failed[0]["Code"]
            raise BusUnavailable(f"SQS refused {len(left)} of {len(entries)} entries: {why}")
        if left:
            time.sleep(_PAUSE_SECONDS)


def _code(failure: dict[str, Any]) -> str:
    """Some come with `AWS.SimpleQueueService.` in front, some without."""
    return str(failure["Code"]).rpartition(".")[2]


class _Passing(BusUnavailable):
    """Time may help."""


@contextmanager
def translated() -> Iterator[None]:
    try:
        yield
    except ClientError as refused:
        if code_of(refused) in _NO_SUCH_QUEUE:
            raise UnknownTopic(f"there is no such queue: {refused}") from None
        kind = _Passing if is_passing(refused) else BusUnavailable
        raise kind(f"SQS refused: {refused}") from None
    except BotoCoreError as away:
        raise _Passing(f"SQS was not reached: {away}") from None
