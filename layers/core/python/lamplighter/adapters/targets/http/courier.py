"""Sends webhooks by way of a function outside the network, several at a time.

What goes there is signed already: the courier knows no secret but those it carries. To the same
host only, and with about as much time: an answer comes when the last of a batch has come, and
nobody is to wait for somebody else's slow receiver.
"""

import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from typing import Any, Final
from urllib.parse import urlsplit

import msgspec
from botocore.exceptions import BotoCoreError, ClientError

from lamplighter.adapters.targets.aws.calls import code_of
from lamplighter.adapters.targets.aws.clients import Clients
from lamplighter.contracts.courier import (
    MOST_BYTES,
    MOST_REQUESTS,
    Reply,
    packed,
    unpacked,
    weight,
)
from lamplighter.ports.target import Context, HttpRequest, HttpResponse, Stopped, TargetFailed

# How long the first of a batch waits for others: those of one herd come within this.
_GATHER_SECONDS: Final = 0.005
_STEPS: Final = (5.0, 30.0, 120.0, 300.0)
# A cold start, and the way.
_SPARE_SECONDS: Final = 15.0
# Lambda takes no more for now: nothing was sent, so nothing is repeated.
_BUSY: Final = frozenset({"TooManyRequestsException", "ThrottlingException"})
_PAUSES: Final = (0.2, 0.4, 0.8)

Key = tuple[str, float]


class Parcel:
    """A request, and who waits for its answer. Whoever settles it first decides."""

    def __init__(self, request: HttpRequest) -> None:
        self.request = request
        self.weight = weight(request)
        self._answer: Future[HttpResponse] = Future()

    def wait(self) -> HttpResponse:
        return self._answer.result()

    def abandon(self) -> None:
        """It cannot be called back: it may arrive, as one that was cut off may have."""
        self._fail(Stopped())

    def settle(self, reply: Reply) -> None:
        if reply.response is None:
            self._fail(TargetFailed(reply.problem or "no answer", retryable=reply.retryable))
            return
        with suppress(InvalidStateError):
            self._answer.set_result(reply.response)

    def _fail(self, problem: BaseException) -> None:
        with suppress(InvalidStateError):
            self._answer.set_exception(problem)

    @property
    def is_settled(self) -> bool:
        return self._answer.done()


class CourierSender:
    def __init__(self, function: str, clients: Clients) -> None:
        self._function = function
        self._clients = clients
        self._lock = threading.Lock()
        self._waiting: dict[Key, list[Parcel]] = {}

    def send(self, request: HttpRequest, context: Context) -> HttpResponse:
        parcel = self._hand_in(request)
        with context.on_stop(parcel.abandon):
            return parcel.wait()

    def send_alone(self, request: HttpRequest) -> HttpResponse:
        return self._hand_in(request).wait()

    def _hand_in(self, request: HttpRequest) -> Parcel:
        parcel = Parcel(request)
        if max(parcel.weight) > MOST_BYTES:
            raise TargetFailed("more than the courier can carry", retryable=False)
        key = _key(request)
        with self._lock:
            waiting = self._waiting.setdefault(key, [])
            waiting.append(parcel)
            is_first = len(waiting) == 1
        if is_first:
            _in_background(self._gather, key)
        return parcel

    def _gather(self, key: Key) -> None:
        time.sleep(_GATHER_SECONDS)
        with self._lock:
            waiting = self._waiting.pop(key)
        for batch in _batches([each for each in waiting if not each.is_settled]):
            _in_background(self._carry, batch)

    def _carry(self, batch: list[Parcel]) -> None:
        """Whatever happens, everybody is told. That it failed says nothing of the request."""
        try:
            replies = self._invoke([each.request for each in batch])
            pairs = list(zip(batch, replies, strict=True))
        except Exception as problem:  # noqa: BLE001 - somebody waits for each of them
            why = f"the courier gave no answer: {_words(problem)}"
            pairs = [(each, Reply(problem=why)) for each in batch]
        for parcel, reply in pairs:
            parcel.settle(reply)

    def _invoke(self, requests: Sequence[HttpRequest]) -> list[Reply]:
        seconds = max(request.timeout_seconds for request in requests) + _SPARE_SECONDS
        # Once: whether a lost answer means a second request is the job's to decide.
        client = self._clients.get("lambda", read_seconds=seconds, repeat=False)
        answer = _patiently(client, self._function, packed(requests))
        payload = answer["Payload"].read()
        if "FunctionError" in answer:
            raise TargetFailed(_error(payload))
        return unpacked(payload)


def _patiently(client: Any, function: str, payload: bytes) -> Any:
    for pause in (*_PAUSES, None):
        try:
            return client.invoke(
                FunctionName=function, InvocationType="RequestResponse", Payload=payload
            )
        except ClientError as error:
            if pause is None or code_of(error) not in _BUSY:
                raise
            time.sleep(pause)
    raise AssertionError("unreachable: the last try returns or raises")


def _key(request: HttpRequest) -> Key:
    step = next((each for each in _STEPS if each >= request.timeout_seconds), float("inf"))
    return urlsplit(request.url).netloc, step


def _batches(parcels: Sequence[Parcel]) -> Iterator[list[Parcel]]:
    """As few as fit: by number, by bytes there, by bytes back."""
    batch: list[Parcel] = []
    there = back = 0
    for parcel in parcels:
        more_there, more_back = parcel.weight
        full = len(batch) == MOST_REQUESTS or max(there + more_there, back + more_back) > MOST_BYTES
        if batch and full:
            yield batch
            batch, there, back = [], 0, 0
        batch.append(parcel)
        there, back = there + more_there, back + more_back
    if batch:
        yield batch


def _in_background(work: Any, *arguments: Any) -> None:
    threading.Thread(target=work, args=arguments, daemon=True, name="courier").start()


def _words(problem: Exception) -> str:
    """Lambda's own say what is wrong, and have nothing of the request in them."""
    known = isinstance(problem, ClientError | BotoCoreError | TargetFailed)
    return str(problem) if known else type(problem).__name__


def _error(payload: bytes) -> str:
    """Lambda's own error document: the kind alone, its text may quote what was carried."""
    try:
        told = msgspec.json.decode(payload)
    except msgspec.DecodeError:
        told = None
    kind = told.get("errorType") if isinstance(told, dict) else None
    return f"it failed ({kind or 'unknown error'})"
