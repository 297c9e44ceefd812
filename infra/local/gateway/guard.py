"""Who may come in: this machine's own programs, and no web page that a browser has open.

There is no key to ask for. A page may send a request to a loopback port all the same, or point a
name of its own at 127.0.0.1; so the address, the origin and the kind of body each have to fit.
"""

import re
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Final

from infra.local.gateway.event import headers_of
from lamplighter.contracts.http import JSON
from lamplighter.contracts.http_checks import BODY_BYTES
from lamplighter.contracts.http_errors import BodyTooLarge, NotJson, status_of
from lamplighter.domain.errors import LamplighterError

HEAD_BYTES: Final = 64 * 1024
_LOOPBACK: Final = r"(?:localhost|127\.0\.0\.1|\[::1\])"
_HOST: Final = re.compile(rf"{_LOOPBACK}(?::\d{{1,5}})?", re.IGNORECASE)
_ORIGIN: Final = re.compile(rf"http://{_LOOPBACK}(?::(\d{{1,5}}))?", re.IGNORECASE)
_HTTP_PORT: Final = 80
# `same-site` is another port of this machine: another program's page.
_FOREIGN_SITES: Final = ("cross-site", "same-site")
_WITH_BODY: Final = ("POST", "PUT", "PATCH", "DELETE")


class ForeignHost(LamplighterError):
    """The request names another machine."""


class ForeignOrigin(LamplighterError):
    """The request comes from a web page that is not ours."""


class HeadersTooLarge(LamplighterError):
    """Path and headers are longer than any client of ours makes them."""


STATUS_OF: Final[Mapping[type[LamplighterError], HTTPStatus]] = {
    ForeignHost: HTTPStatus.FORBIDDEN,
    ForeignOrigin: HTTPStatus.FORBIDDEN,
    HeadersTooLarge: HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE,
}


def status_of_refusal(refusal: LamplighterError) -> HTTPStatus:
    known = STATUS_OF.get(type(refusal)) or status_of(refusal)
    return known or HTTPStatus.INTERNAL_SERVER_ERROR


def check_head(scope: Mapping[str, Any], port: int) -> None:
    """Everything that can be refused before the body is read."""
    _check_size(scope)
    headers = headers_of(scope)
    host = headers.get("host", "")
    if not _HOST.fullmatch(host):
        raise ForeignHost(
            f"This gateway answers to localhost and 127.0.0.1, not to {host[:100]!r}."
        )
    if "origin" in headers and not _is_ours(headers["origin"], port):
        raise ForeignOrigin(f"Pages of {headers['origin'][:100]!r} may not use this gateway.")
    if headers.get("sec-fetch-site", "").lower() in _FOREIGN_SITES:
        raise ForeignOrigin("Pages of other sites may not use this gateway.")
    declared = headers.get("content-length", "")
    if declared.isdecimal() and int(declared) > BODY_BYTES:
        raise too_large()


def check_body(scope: Mapping[str, Any], body: bytes) -> None:
    """A page can send a form or plain text unasked, but not JSON."""
    if not body or scope["method"] not in _WITH_BODY:
        return
    kind = headers_of(scope).get("content-type", "").partition(";")[0].strip().lower()
    if kind != JSON and not kind.endswith("+json"):
        raise NotJson(f"Send JSON, with the header Content-Type: {JSON}.")


def too_large() -> BodyTooLarge:
    return BodyTooLarge(f"The body is over {BODY_BYTES:,} bytes. Send it in parts.")


def _check_size(scope: Mapping[str, Any]) -> None:
    size = len(scope["raw_path"]) + len(scope["query_string"])
    size += sum(len(name) + len(value) for name, value in scope["headers"])
    if size > HEAD_BYTES:
        raise HeadersTooLarge(f"Path and headers are over {HEAD_BYTES:,} bytes.")


def _is_ours(origin: str, port: int) -> bool:
    found = _ORIGIN.fullmatch(origin)
    return found is not None and int(found.group(1) or _HTTP_PORT) == port
