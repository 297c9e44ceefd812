"""A request as API Gateway tells it (payload format 2.0), and an answer as it understands it."""

import base64
import random
import time
from collections.abc import Iterable, Mapping
from typing import Any, Final
from urllib.parse import parse_qsl

import msgspec

Headers = list[tuple[bytes, bytes]]
# Whatever a function answers: no other web page is to read it.
_CORS: Final = "access-control-"


class Answer(msgspec.Struct, frozen=True):
    status: int
    headers: Headers
    body: bytes


def joined(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    """What comes more than once is one value with commas, for headers and parameters alike."""
    found: dict[str, str] = {}
    for name, value in pairs:
        found[name] = f"{found[name]},{value}" if name in found else value
    return found


def headers_of(scope: Mapping[str, Any]) -> dict[str, str]:
    return joined(
        (name.decode("latin-1"), value.decode("latin-1")) for name, value in scope["headers"]
    )


def event_of(scope: Mapping[str, Any], body: bytes, route: str) -> dict[str, Any]:
    headers = headers_of(scope)
    cookies = headers.pop("cookie", None)
    raw_query = scope["query_string"].decode("latin-1")
    event: dict[str, Any] = {
        "version": "2.0",
        "routeKey": route,
        # Decoded, as HTTP APIs have it in spite of the name.
        "rawPath": scope["path"],
        "rawQueryString": raw_query,
        "headers": headers,
        "requestContext": _context(scope, headers, route),
        **_body(body),
    }
    if cookies is not None:
        event["cookies"] = [each.strip() for each in cookies.split(";")]
    if parameters := joined(parse_qsl(raw_query, keep_blank_values=True)):
        event["queryStringParameters"] = parameters
    return event


def _context(scope: Mapping[str, Any], headers: Mapping[str, str], route: str) -> dict[str, Any]:
    now = time.time()
    client = scope.get("client")
    host = headers.get("host", "")
    return {
        "accountId": "anonymous",
        "apiId": "local",
        "domainName": host,
        "domainPrefix": host.partition(".")[0],
        "http": {
            "method": scope["method"],
            "path": scope["path"],
            "protocol": f"HTTP/{scope['http_version']}",
            "sourceIp": client[0] if client else "",
            "userAgent": headers.get("user-agent", ""),
        },
        # Not uuid4: the system is asked for chance without Python's lock, and others take it.
        "requestId": f"{random.getrandbits(128):032x}",
        "routeKey": route,
        "stage": "$default",
        "time": time.strftime("%d/%b/%Y:%H:%M:%S +0000", time.gmtime(now)),
        "timeEpoch": int(now * 1000),
    }


def _body(body: bytes) -> dict[str, Any]:
    """Text as it is; what is none travels as base64, and the function says what is wrong."""
    if not body:
        return {"isBase64Encoded": False}
    try:
        return {"body": body.decode(), "isBase64Encoded": False}
    except UnicodeDecodeError:
        return {"body": base64.b64encode(body).decode(), "isBase64Encoded": True}


def answer_of(answer: Mapping[str, Any]) -> Answer:
    """What a function has answered, as bytes for the wire."""
    text: str = answer.get("body") or ""
    body = base64.b64decode(text) if answer.get("isBase64Encoded") else text.encode()
    headers = [
        (name.lower().encode("latin-1"), value.encode("latin-1", errors="replace"))
        for name, value in answer.get("headers", {}).items()
        if not name.lower().startswith(_CORS)
    ]
    headers += [(b"set-cookie", each.encode("latin-1")) for each in answer.get("cookies", [])]
    headers.append((b"content-length", str(len(body)).encode()))
    return Answer(answer["statusCode"], headers, body)
