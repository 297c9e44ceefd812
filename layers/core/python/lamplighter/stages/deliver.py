"""Deliver: the courier's round. Every webhook of a batch at once, each answer in its place."""

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Final

import msgspec

from lamplighter.contracts.courier import Reply, reply
from lamplighter.ports.target import HttpRequest, HttpResponse, TargetFailed

Send = Callable[[HttpRequest], HttpResponse]

# One whose time is over is cut off; this is for one that cannot be, in a resolver of names.
_GRACE_SECONDS: Final = 1.0


def deliver(requests: Sequence[HttpRequest], send: Send, seconds: float) -> list[Reply]:
    """Each within its own time, and all within `seconds`: what is late is told as that."""
    if not requests:
        return []
    hands = ThreadPoolExecutor(len(requests), thread_name_prefix="courier")
    try:
        sent = [hands.submit(_carry, _within(request, seconds), send) for request in requests]
        longest = max(min(request.timeout_seconds, seconds) for request in requests)
        wait(sent, timeout=longest + _GRACE_SECONDS)
        return [_told(each) for each in sent]
    finally:
        hands.shutdown(wait=False, cancel_futures=True)


def _within(request: HttpRequest, seconds: float) -> HttpRequest:
    return msgspec.structs.replace(request, timeout_seconds=min(request.timeout_seconds, seconds))


def _carry(request: HttpRequest, send: Send) -> Reply:
    try:
        return reply(send(request))
    except TargetFailed as problem:
        return Reply(problem=str(problem), retryable=problem.retryable)


def _told(sent: "Future[Reply]") -> Reply:
    if not sent.done():
        return Reply(problem="no answer in time")
    problem = sent.exception()
    # By its kind alone: what broke us may have a secret header in its words.
    return sent.result() if problem is None else Reply(problem=f"broke: {type(problem).__name__}")
