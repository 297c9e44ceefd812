"""Routes, and the way from an event to an answer: match, call, tell every error, log one line."""

import logging
import re
import time
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Any, Final, Generic, TypeVar

import msgspec

from lamplighter.contracts.http import (
    OF_TENANT,
    Request,
    Response,
    TenantClaim,
    answer_of,
    request_of,
)
from lamplighter.contracts.http_errors import (
    INTERNAL,
    MethodNotAllowed,
    NoSuchRoute,
    RoleTooLow,
    code_of,
    error_body,
    error_headers,
    internal_error,
    status_of,
)
from lamplighter.domain.api_key import Role
from lamplighter.domain.errors import LamplighterError
from lamplighter.telemetry.logs import keys

D = TypeVar("D")
Endpoint = Callable[[D, Request], Response]

_PARAMETER: Final = re.compile(r"\{(\w+)\}")
_log = logging.getLogger("lamplighter.http")
# Lambda prints warnings and worse unless told otherwise; the one line per request is wanted.
_log.setLevel(logging.INFO)


class Route(msgspec.Struct, frozen=True):
    name: str  # as in the table: `GET /jobs/{job_id}`
    method: str
    pattern: "re.Pattern[str]"
    endpoint: Callable[..., Response]


class Api(Generic[D]):
    """A table of routes. Its endpoints get what they work with, and the request."""

    def __init__(
        self, function: str, routes: Mapping[str, Endpoint[D]], *, writes: bool = False
    ) -> None:
        self._function = function
        self._writes = writes
        self.routes = [_route(name, endpoint) for name, endpoint in routes.items()]

    def answer(
        self,
        event: Mapping[str, Any],
        desk: Callable[[], D],
        tenant_claim: Callable[[], TenantClaim] = lambda: OF_TENANT,
    ) -> dict[str, Any]:
        """Never raises: a request that broke us is answered too, and says nothing of how."""
        began = time.perf_counter()
        told: dict[str, Any] = {"function": self._function}
        try:
            response = self._respond(event, desk, told, tenant_claim)
        except Exception as error:  # noqa: BLE001 - whatever it was, the client gets an answer
            response = _refusal(error, told)
        _tell(told, response, time.perf_counter() - began)
        return answer_of(response)

    def _respond(
        self,
        event: Mapping[str, Any],
        desk: Callable[[], D],
        told: dict[str, Any],
        tenant_claim: Callable[[], TenantClaim],
    ) -> Response:
        told["gateway_request_id"] = _request_id(event)
        request = request_of(event, tenant_claim())
        told |= {"method": request.method, "path": request.path, "tenant": request.tenant}
        route, params = self._match(request)
        told["route"] = route.name
        if self._writes and request.role == Role.READER:
            raise RoleTooLow("This key may only read. Ask for one with the role submitter.")
        return route.endpoint(desk(), msgspec.structs.replace(request, params=params))

    def _match(self, request: Request) -> tuple[Route, Mapping[str, str]]:
        here = []
        for route in self.routes:
            if found := route.pattern.match(request.path):
                if route.method == request.method:
                    return route, found.groupdict()
                here.append(route)
        if here:
            allowed = sorted({route.method for route in here})
            names = " and ".join(allowed)
            raise MethodNotAllowed(f"{request.path[:200]} answers to {names} only.", allowed)
        raise NoSuchRoute(f"Nothing lives at {request.path[:200]}. docs/api.md lists what does.")


def _refusal(error: Exception, told: dict[str, Any]) -> Response:
    """What the table knows is told; anything else is ours to mend, and only the log has it."""
    status = status_of(error) if isinstance(error, LamplighterError) else None
    if status is None or not isinstance(error, LamplighterError):
        _log.error("request broke", exc_info=error)
        told["code"] = INTERNAL
        body = internal_error(str(told.get("gateway_request_id", "")))
        return Response(HTTPStatus.INTERNAL_SERVER_ERROR, body)
    told |= {"code": code_of(error), "error": str(error)}
    return Response(status, error_body(error), error_headers(error))


def _route(name: str, endpoint: Callable[..., Response]) -> Route:
    method, _, path = name.partition(" ")
    pattern = _PARAMETER.sub(r"(?P<\1>[^/]+)", path)
    # Not `$`: that lets a line break follow, which no header may repeat.
    return Route(name, method, re.compile(rf"^{pattern}\Z"), endpoint)


def _request_id(event: Mapping[str, Any]) -> str:
    context = event.get("requestContext")
    return str(context.get("requestId", "")) if isinstance(context, Mapping) else ""


def _tell(told: dict[str, Any], response: Response, seconds: float) -> None:
    told |= {"status": int(response.status), "ms": round(seconds * 1000, 1)}
    level = logging.ERROR if response.status >= HTTPStatus.INTERNAL_SERVER_ERROR else logging.INFO
    _log.log(level, "request answered", extra=keys(**told))
