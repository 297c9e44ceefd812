"""Once: a change that is sent again under its Idempotency-Key is answered as it was before.

The key is remembered first, then the change is made, then the answer kept. Whoever dies in between
leaves a key without an answer; the same request again is then carried out again, and every change
bears that: it makes the same runs, or finds the job as it wants it.
"""

import logging
from collections.abc import Callable
from datetime import datetime
from http import HTTPStatus

import msgspec

from lamplighter.contracts.http import Request, Response
from lamplighter.contracts.http_keys import REPLAYED, fingerprint, key_of
from lamplighter.domain.errors import LamplighterError, LedgerUnavailable
from lamplighter.stages.desk import Desk

_log = logging.getLogger("lamplighter.once")


class Occasion(msgspec.Struct, frozen=True):
    """Under which key a change was asked for, and when that was first used."""

    key: str | None = None
    since: datetime | None = None


def once(
    desk: Desk, request: Request, change: Callable[[Occasion], Response], body: bytes = b"{}"
) -> Response:
    """`body` is what must be the same when the key comes again."""
    key = key_of(request)
    if key is None:
        return change(Occasion())
    place = (request.tenant, f"{request.method} {request.path}", key)
    meant = fingerprint(body)
    use = desk.ledger.use_key(*place, meant)
    if use.answer is not None:
        return _replayed(use.answer)
    try:
        response = change(Occasion(key, use.used_at))
    except LedgerUnavailable:
        raise  # it may have been made
    except LamplighterError:
        desk.ledger.forget_key(*place)
        raise
    _keep(desk, place, meant, response)
    return response


def _keep(desk: Desk, place: tuple[str, str, str], meant: bytes, response: Response) -> None:
    try:
        desk.ledger.answer_key(*place, meant, msgspec.to_builtins(response))
    except LedgerUnavailable as error:
        # The change is made, and its answer is true: nothing else is worth telling.
        _log.warning("answer to key %r not kept: %s", place[-1], error)


def _replayed(answer: object) -> Response:
    first = msgspec.convert(answer, Response)
    return Response(HTTPStatus(first.status), first.body, {**first.headers, **REPLAYED})
