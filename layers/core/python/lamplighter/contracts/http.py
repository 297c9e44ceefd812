"""API Gateway's events and answers (payload format 2.0), and what the stages see of them."""

import base64
import binascii
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Final
from uuid import UUID

import msgspec

from lamplighter.contracts.http_checks import BODY_BYTES
from lamplighter.contracts.http_errors import (
    BodyTooLarge,
    MalformedRequest,
    NoTenant,
    NotJson,
)
from lamplighter.domain.canary import INTERNAL_TENANT
from lamplighter.domain.errors import JobNotFound, RunNotFound
from lamplighter.domain.job import DEFAULT_TENANT

JSON: Final = "application/json"
TENANT: Final = "tenant"
_BASE64_GROWTH: Final = 4 / 3
_NOT_FOUND: Final = {"job_id": JobNotFound, "run_id": RunNotFound}


class _Http(msgspec.Struct):
    method: str
    path: str = ""


class _Jwt(msgspec.Struct):
    claims: dict[str, Any] | None = None


class _Authorizer(msgspec.Struct):
    """Of our own function, or the gateway's of tokens. IAM says who, and nothing of tenants."""

    lambda_: dict[str, Any] | None = msgspec.field(name="lambda", default=None)
    jwt: _Jwt | None = None


class _Context(msgspec.Struct, rename="camel"):
    http: _Http
    stage: str = "$default"
    request_id: str = ""
    authorizer: _Authorizer | None = None


class _Event(msgspec.Struct, rename="camel"):
    """As much of the event as is read here; AWS may add to it."""

    raw_path: str
    request_context: _Context
    headers: dict[str, str] = {}
    query_string_parameters: dict[str, str] | None = None
    body: str | None = None
    is_base64_encoded: bool = False


class TenantClaim(msgspec.Struct, frozen=True):
    """Which claim of a token names its tenant, and whose it is without; None: nobody's."""

    name: str = TENANT
    otherwise: str | None = None


OF_TENANT: Final = TenantClaim()


class Request(msgspec.Struct, frozen=True):
    """One request: names of headers are in lower case, `params` come from the path."""

    method: str
    path: str
    headers: Mapping[str, str] = {}
    query: Mapping[str, str] = {}
    body: bytes = b""
    tenant: str = DEFAULT_TENANT
    role: str | None = None  # none: whoever let them in set no bounds
    request_id: str = ""
    params: Mapping[str, str] = {}

    def json(self) -> bytes:
        """The body, where it says that it is JSON. No web page can send that unasked."""
        content_type = self.headers.get("content-type", "").partition(";")[0].strip().lower()
        if content_type != JSON and not content_type.endswith("+json"):
            raise NotJson(f"Send JSON, with the header Content-Type: {JSON}.")
        if not self.body.strip():
            raise MalformedRequest("The body is empty. Send a JSON object.")
        return self.body

    def json_or_nothing(self) -> bytes:
        return self.json() if self.body.strip() else b"{}"

    def id(self, name: str) -> UUID:
        """An id from the path. What is no id cannot exist: not found, as any other."""
        text = self.params[name]
        try:
            return UUID(text)
        except ValueError:
            kind = name.removesuffix("_id")
            raise _NOT_FOUND[name](f"no {kind} {text[:100]!r}; ids are UUIDs") from None


class Response(msgspec.Struct, frozen=True):
    """`body` is JSON to be, or text that is sent as it is."""

    status: HTTPStatus
    body: Any = None
    headers: Mapping[str, str] = {}


def request_of(event: Mapping[str, Any], claim: TenantClaim = OF_TENANT) -> Request:
    """Read an event. Whatever the authorizer says of the tenant is believed, nothing else is."""
    read = msgspec.convert(event, _Event)
    context = read.request_context
    return Request(
        method=context.http.method.upper(),
        path=_path(read.raw_path, context.stage),
        headers={name.lower(): value for name, value in read.headers.items()},
        query=read.query_string_parameters or {},
        body=_body(read),
        tenant=_tenant(context.authorizer, claim),
        role=_said(context.authorizer.lambda_, "role") if context.authorizer else None,
        request_id=context.request_id,
    )


def _path(raw: str, stage: str) -> str:
    """A named stage stands in front of the path; `$default` does not."""
    prefix = f"/{stage}/"
    path = raw.removeprefix(prefix[:-1]) if raw.startswith(prefix) else raw
    # Whatever was in there, it can be logged and shown.
    return path.encode(errors="replace").decode().rstrip("/") or "/"


def _tenant(authorizer: _Authorizer | None, claim: TenantClaim) -> str:
    if authorizer is None:
        return DEFAULT_TENANT
    if authorizer.jwt is not None:
        return _of_token(authorizer.jwt, claim)
    return _said(authorizer.lambda_, TENANT) or DEFAULT_TENANT


def _of_token(jwt: _Jwt, claim: TenantClaim) -> str:
    """One that says nothing is nobody's: an issuer may have let in more people than we have."""
    tenant = _said(jwt.claims, claim.name) or claim.otherwise
    if tenant is None:
        raise NoTenant(
            f"This token does not say whose jobs it is about: it has no claim {claim.name!r}, a"
            " text. Ask its issuer for one, or whoever deploys for LAMPLIGHTER_JWT_DEFAULT_TENANT."
        )
    if tenant == INTERNAL_TENANT:
        raise NoTenant(f"{tenant!r} is the scheduler's own: no token may speak for it.")
    return tenant


def _said(context: Mapping[str, Any] | None, name: str) -> str | None:
    told = (context or {}).get(name)
    return told if isinstance(told, str) and told else None


def _body(event: _Event) -> bytes:
    text = event.body or ""
    size = len(text) / _BASE64_GROWTH if event.is_base64_encoded else len(text)
    if size <= BODY_BYTES:
        data = _unpacked(text) if event.is_base64_encoded else text.encode(errors="surrogatepass")
        if len(data) <= BODY_BYTES:
            return data
    raise BodyTooLarge(f"The body is over {BODY_BYTES:,} bytes. Send it in parts.")


def _unpacked(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise MalformedRequest("The body claims to be base64, and is not.") from None


def answer_of(response: Response) -> dict[str, Any]:
    """What API Gateway wants to get back."""
    is_text = isinstance(response.body, str)
    headers = {"content-type": "text/plain; charset=utf-8" if is_text else JSON}
    text = response.body if is_text else msgspec.json.encode(response.body).decode()
    return {
        "statusCode": int(response.status),
        "headers": headers | {name.lower(): value for name, value in response.headers.items()},
        "body": "" if response.body is None else text,
        "isBase64Encoded": False,
    }
