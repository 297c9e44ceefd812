"""Every error as an answer: one table of statuses, one shape, no stack traces."""

import re
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Final

from lamplighter.domain.errors import (
    IdempotencyConflict,
    InvalidJob,
    JobEnded,
    JobNotFound,
    LamplighterError,
    LedgerUnavailable,
    RunNotFound,
    VersionConflict,
)


class MalformedRequest(LamplighterError):
    """The body is not the JSON that it claims to be."""


class BodyTooLarge(LamplighterError):
    """More than one request may carry. Send it in parts, or leave the data elsewhere."""


class NotJson(LamplighterError):
    """The body's Content-Type is not JSON."""


class InvalidParameter(InvalidJob):
    """A path or query parameter, or a header, is wrong; names it and the fix."""

    def __init__(self, field: str, fix: str, hint: str | None = None) -> None:
        super().__init__(field, fix)
        self.hint = hint


class RunNotHeld(LamplighterError):
    """The run is not held, or no longer: there is nothing to decide."""


class LogNotFound(LamplighterError):
    """The run has no log, or none that is still kept."""


class CalendarNotFound(LamplighterError):
    """No calendar of this tenant has this name."""


class RoleTooLow(LamplighterError):
    """The key is good, but not for this."""


class NoTenant(LamplighterError):
    """The token is good, but does not say whose jobs it is about."""


class NoSuchRoute(LamplighterError):
    """Nothing lives at this path. docs/api.md lists what does."""


class MethodNotAllowed(LamplighterError):
    """The path exists, with other methods."""

    def __init__(self, text: str, allowed: list[str]) -> None:
        super().__init__(text)
        self.allowed = allowed


STATUS_OF: Final[Mapping[type[LamplighterError], HTTPStatus]] = {
    MalformedRequest: HTTPStatus.BAD_REQUEST,
    RoleTooLow: HTTPStatus.FORBIDDEN,
    NoTenant: HTTPStatus.FORBIDDEN,
    NoSuchRoute: HTTPStatus.NOT_FOUND,
    JobNotFound: HTTPStatus.NOT_FOUND,
    RunNotFound: HTTPStatus.NOT_FOUND,
    LogNotFound: HTTPStatus.NOT_FOUND,
    CalendarNotFound: HTTPStatus.NOT_FOUND,
    MethodNotAllowed: HTTPStatus.METHOD_NOT_ALLOWED,
    JobEnded: HTTPStatus.CONFLICT,
    RunNotHeld: HTTPStatus.CONFLICT,
    IdempotencyConflict: HTTPStatus.CONFLICT,
    VersionConflict: HTTPStatus.PRECONDITION_FAILED,
    BodyTooLarge: HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    NotJson: HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
    InvalidJob: HTTPStatus.UNPROCESSABLE_ENTITY,
    LedgerUnavailable: HTTPStatus.SERVICE_UNAVAILABLE,
}
INTERNAL: Final = "internal_error"
RETRY_AFTER_SECONDS: Final = 2
# Their own texts name hosts and users; these are for the log.
_TOLD_BY_CLASS: Final = (LedgerUnavailable,)
_WORD_STARTS: Final = re.compile(r"(?<!^)(?=[A-Z])")


def status_of(error: LamplighterError) -> HTTPStatus | None:
    """Of its class, or of the nearest above it that the table knows; None: not for clients."""
    return next((STATUS_OF[each] for each in type(error).__mro__ if each in STATUS_OF), None)


def code_of(error: LamplighterError) -> str:
    """`JobNotFound` is `job_not_found`."""
    return _WORD_STARTS.sub("_", type(error).__name__).lower()


def error_body(error: LamplighterError) -> dict[str, Any]:
    """`{"error": {"code", "message", "field", "hint"?}}`."""
    told = type(error).__doc__ if isinstance(error, _TOLD_BY_CLASS) else str(error)
    field = error.field if isinstance(error, InvalidJob) else None
    body = {"code": code_of(error), "message": told or code_of(error), "field": field}
    hint = getattr(error, "hint", None)
    return {"error": body | {"hint": hint} if hint else body}


def error_headers(error: LamplighterError) -> dict[str, str]:
    if isinstance(error, LedgerUnavailable):
        return {"Retry-After": str(RETRY_AFTER_SECONDS)}
    if isinstance(error, MethodNotAllowed):
        return {"Allow": ", ".join(error.allowed)}
    return {}


def internal_error(request_id: str) -> dict[str, Any]:
    message = f"Something broke on our side; the log has it under request {request_id}."
    return {"error": {"code": INTERNAL, "message": message, "field": None}}
