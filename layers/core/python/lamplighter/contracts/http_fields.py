"""How each field of a body is read: checked, and turned into what a job keeps."""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, TypeAlias
from uuid import UUID

import msgspec

from lamplighter.contracts import http_checks as checks
from lamplighter.contracts.http_checks import (
    check_instant,
    check_pool,
    check_text,
    document,
)
from lamplighter.contracts.jobs import Edge
from lamplighter.domain.errors import InvalidGraph, InvalidJob
from lamplighter.domain.policy import Upstream

# The field's name for messages, and its value.
Reader: TypeAlias = Callable[[str, Any], Any]


def as_it_is(_: str, value: Any) -> Any:
    """Its type has said everything."""
    return value


def name(field: str, value: str | None) -> str:
    return check_text(field, value or "")


def key(field: str, value: str) -> str:
    return check_text(field, value)


def pool(field: str, value: str) -> str:
    return check_pool(field, value)


def instant(field: str, value: datetime) -> datetime:
    return check_instant(field, value)


def payload(field: str, value: msgspec.Raw) -> Any:
    return document(field, value, checks.PAYLOAD_BYTES)


def target(field: str, value: msgspec.Raw) -> dict[str, Any]:
    found = document(field, value, checks.TARGET_BYTES)
    if not isinstance(found, dict) or not isinstance(found.get("type"), str):
        raise InvalidJob(field, 'give an object with a type, like {"type": "http", "url": "…"}')
    return found


def command(field: str, value: str) -> dict[str, Any]:
    if not value.strip() or "\0" in value or len(value) > checks.COMMAND_CHARACTERS:
        most = f"{checks.COMMAND_CHARACTERS:,}"
        raise InvalidJob(field, f"give a shell command of up to {most} characters, without NUL")
    return {"type": "command", "command": value}


def metadata(field: str, value: msgspec.Raw) -> dict[str, Any]:
    found = document(field, value, checks.METADATA_BYTES)
    if not isinstance(found, dict):
        raise InvalidJob(field, "give an object")
    return found


def tags(field: str, value: Sequence[str]) -> tuple[str, ...]:
    if len(value) > checks.MOST_TAGS:
        raise InvalidJob(field, f"there are {len(value):,}; give {checks.MOST_TAGS} at most")
    return tuple(check_text(f"{field}[{n}]", each) for n, each in enumerate(value))


def fan_out(field: str, value: Sequence[str]) -> tuple[str, ...]:
    if len(set(value)) != len(value) or len(value) > checks.MOST_POOLS:
        raise InvalidJob(field, f"name each pool once, {checks.MOST_POOLS} at most")
    return tuple(check_pool(f"{field}[{n}]", each) for n, each in enumerate(value))


def upstreams(field: str, value: Sequence[str | Edge]) -> tuple[Upstream, ...]:
    if len(value) > checks.MOST_UPSTREAMS:
        raise InvalidGraph(field, f"give {checks.MOST_UPSTREAMS:,} upstreams at most")
    return tuple(_upstream(f"{field}[{n}]", each) for n, each in enumerate(value))


def _upstream(field: str, value: str | Edge) -> Upstream:
    edge = Edge(value) if isinstance(value, str) else value
    try:
        job_id = UUID(edge.job_id)
    except ValueError:
        raise InvalidGraph(field, f"{edge.job_id[:100]!r} is not a job id; ids are UUIDs") from None
    return Upstream(str(job_id), edge.rule, edge.within_seconds)
