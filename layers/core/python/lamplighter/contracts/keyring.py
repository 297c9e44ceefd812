"""What is to be done with API keys, as it is told to the function that reaches them."""

from collections.abc import Mapping, Sequence
from typing import Any, Final
from uuid import UUID

import msgspec

from lamplighter.domain.api_key import ApiKey, Role
from lamplighter.domain.job import DEFAULT_TENANT

# At the top of an event: the gateway puts nothing there that a client has sent.
KEYS: Final = "keys"


class AddKey(msgspec.Struct, frozen=True, tag_field="do", tag="add"):
    """The digest alone travels: the key is made, and shown, where somebody asked for it."""

    digest: bytes
    name: str
    tenant: str = DEFAULT_TENANT
    role: Role = Role.SUBMITTER
    lifetime_seconds: float | None = None


class ListKeys(msgspec.Struct, frozen=True, tag_field="do", tag="list"):
    tenant: str | None = None


class RevokeKey(msgspec.Struct, frozen=True, tag_field="do", tag="revoke"):
    key_id: UUID


Order = AddKey | ListKeys | RevokeKey


def event_of(order: Order) -> bytes:
    return msgspec.json.encode({KEYS: order})


def order_of(event: Mapping[str, Any]) -> Order:
    order: Order = msgspec.convert(event[KEYS], Order)
    return order


def answer_of_order(found: Sequence[ApiKey]) -> dict[str, Any]:
    answer: dict[str, Any] = msgspec.to_builtins({KEYS: list(found)})
    return answer


def found_in(payload: bytes) -> list[ApiKey]:
    return msgspec.json.decode(payload, type=dict[str, list[ApiKey]])[KEYS]
