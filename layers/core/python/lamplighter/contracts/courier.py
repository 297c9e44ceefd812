"""What the courier is given and gives back: webhooks, signed and ready, and what became of each.

Both ways as JSON, bodies in base64, within what one invocation of Lambda may carry.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from lamplighter.ports.target import HttpRequest, HttpResponse

# Lambda takes and gives 6 MB; the frame around our part is its own.
MOST_BYTES: Final = 5_500_000
# Each is a thread of the courier's.
MOST_REQUESTS: Final = 64
# All that is read of an answer's headers: others would come along for nothing.
TOLD_HEADERS: Final = frozenset({"content-type", "location", "retry-after"})
_HEADER_BYTES: Final = 2_000
_REPLY_BYTES: Final = 3 * _HEADER_BYTES + 1_000
_BASE64_GROWTH: Final = 4 / 3


class Batch(msgspec.Struct, frozen=True):
    requests: list[HttpRequest]


class Reply(msgspec.Struct, frozen=True, omit_defaults=True):
    """The answer, or why there is none."""

    response: HttpResponse | None = None
    problem: str | None = None
    retryable: bool = True


class Replies(msgspec.Struct, frozen=True):
    """One for each request, in their order."""

    replies: list[Reply]


def packed(requests: Sequence[HttpRequest]) -> bytes:
    return msgspec.json.encode(Batch(list(requests)))


def batch_of(event: Mapping[str, Any]) -> Batch:
    return msgspec.convert(event, Batch)


def answer_of(replies: Sequence[Reply]) -> dict[str, Any]:
    answer: dict[str, Any] = msgspec.to_builtins(Replies(list(replies)))
    return answer


def unpacked(payload: bytes) -> list[Reply]:
    return msgspec.json.decode(payload, type=Replies).replies


def reply(response: HttpResponse) -> Reply:
    """As small as it must be."""
    headers = {
        name: value[:_HEADER_BYTES]
        for name, value in response.headers.items()
        if name in TOLD_HEADERS
    }
    return Reply(msgspec.structs.replace(response, headers=headers))


def weight(request: HttpRequest) -> tuple[int, int]:
    """Bytes that it takes on the way there, and that its answer may take on the way back."""
    there = len(msgspec.json.encode(request)) + 1
    return there, int(request.keep_bytes * _BASE64_GROWTH) + _REPLY_BYTES
