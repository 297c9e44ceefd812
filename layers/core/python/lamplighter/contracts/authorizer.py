"""The gateway's question to its authorizer (payload format 2.0), and a simple answer."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

import msgspec

from lamplighter.domain.api_key import Role

_SCHEME: Final = "bearer "


class Known(msgspec.Struct, frozen=True):
    """Who a key is, as the cache keeps it. `checked_at`: when the ledger last said so."""

    tenant: str
    key_id: str
    role: Role
    checked_at: datetime
    expires_at: datetime | None = None


class _Event(msgspec.Struct, rename="camel"):
    """As much of the event as is read here; AWS may add to it."""

    headers: dict[str, str] | None = None
    identity_source: list[str] | None = None


def presented(event: Mapping[str, Any]) -> str:
    """The key that came in `Authorization`, with or without `Bearer`; "" where none did."""
    read = msgspec.convert(event, _Event)
    headers = {name.lower(): value for name, value in (read.headers or {}).items()}
    text = headers.get("authorization") or next(iter(read.identity_source or ()), "")
    is_bearer = text[: len(_SCHEME)].lower() == _SCHEME
    return (text[len(_SCHEME) :] if is_bearer else text).strip()


def answer_of(known: Known | None) -> dict[str, Any]:
    """What the functions behind the gateway believe (`contracts/http.py`)."""
    if known is None:
        return {"isAuthorized": False}
    context = {"tenant": known.tenant, "key_id": known.key_id, "role": known.role.value}
    return {"isAuthorized": True, "context": context}
