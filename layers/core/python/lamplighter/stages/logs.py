"""The log of a run: whole where a store has it, else what the ledger kept of its output."""

import codecs
from http import HTTPStatus
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from lamplighter.contracts.answers import status_word
from lamplighter.contracts.http import Request, Response
from lamplighter.contracts.http_decode import parameters
from lamplighter.contracts.http_errors import LogNotFound
from lamplighter.domain.run import Run
from lamplighter.domain.states import RunState
from lamplighter.ports.logs import LogName, LogsUnavailable
from lamplighter.stages.desk import Desk

PIECE_BYTES: Final = 256 * 1024
# In Lambda's answer a control character takes six bytes, and the whole of it may take six million.
MOST_BYTES: Final = 768 * 1024
_UTF8_BYTES: Final = 4
_WRITING: Final = (RunState.RUNNING, RunState.CANCELLING)


class _LogQuery(msgspec.Struct, forbid_unknown_fields=True):
    offset: Annotated[int, Meta(ge=0, le=2**53)] = 0
    limit: Annotated[int, Meta(ge=_UTF8_BYTES, le=MOST_BYTES)] = PIECE_BYTES


def get_log(desk: Desk, request: Request) -> Response:
    """A piece of it, as text; the headers say where the next one begins, and of which claim."""
    asked = parameters(dict(request.query), _LogQuery)
    run = desk.ledger.run(request.tenant, request.id("run_id"))
    data = _read(desk, run, asked.offset, asked.limit)
    piece = _whole_characters(data) if len(data) == asked.limit or not run.state.is_final else data
    headers = {
        "Log-Next-Offset": str(asked.offset + len(piece)),
        "Log-Fence": str(run.fence),
        "Run-Status": status_word(run, desk.now()),
        # It is whatever the job printed: no browser is to take it for a page.
        "X-Content-Type-Options": "nosniff",
    }
    return Response(HTTPStatus.OK, piece.decode(errors="replace"), headers)


def _read(desk: Desk, run: Run, offset: int, limit: int) -> bytes:
    kept = (run.stdout or "") + (run.stderr or "")
    url = _url(desk, run)
    if desk.logs is not None and url is not None:
        try:
            return desk.logs.read(url, offset, limit)
        except LogsUnavailable as problem:
            if run.state.is_final and not kept:
                raise LogNotFound(f"the log of run {run.run_id} cannot be read") from problem
    if run.state in _WRITING:
        return b""  # what the ledger kept is of an attempt before this one
    if run.state.is_final and not kept:
        raise LogNotFound(_why_none(run))
    return kept.encode(errors="replace")[offset : offset + limit]


def _url(desk: Desk, run: Run) -> str | None:
    """While it runs nobody has written down where its log is; a folder shows it all the same."""
    if desk.logs is None or run.state not in _WRITING:
        return run.log_url
    return desk.logs.url(LogName(run.tenant, run.run_id, run.fence))


def _why_none(run: Run) -> str:
    if run.start_time is None:
        return f"run {run.run_id} ended as {run.state.name} without having started: there is no log"
    return f"run {run.run_id} printed nothing, or its log is no longer kept"


def _whole_characters(data: bytes) -> bytes:
    """Without the beginning of a character whose end is still to come."""
    decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
    decoder.decode(data[-_UTF8_BYTES:])
    unfinished = len(decoder.getstate()[0])
    return data[: len(data) - unfinished]
