"""Limits of what people may send, checked before anything is believed."""

import re
from datetime import UTC, datetime
from typing import Any, Final

import msgspec

from lamplighter.domain.errors import InvalidJob

BODY_BYTES: Final = 6 * 1024 * 1024  # what Lambda itself takes
PAYLOAD_BYTES: Final = 256 * 1024
TARGET_BYTES: Final = 64 * 1024
METADATA_BYTES: Final = 16 * 1024
DEEPEST: Final = 64
NAME_CHARACTERS: Final = 200
KEY_CHARACTERS: Final = 255
CRON_CHARACTERS: Final = 500
COMMAND_CHARACTERS: Final = 32_768
MOST_TAGS: Final = 50
MOST_POOLS: Final = 20
MOST_UPSTREAMS: Final = 1000
MOST_JOBS: Final = 10_000
MOST_EDGES: Final = 50_000
# A day of leeway for offsets at either end.
FIRST_YEAR: Final = 1970
LAST_YEAR: Final = 9990

_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f]")
# An escaped NUL whose backslash is not itself escaped.
_NUL: Final = re.compile(rb"(?<!\\)(?:\\\\)*\\u0000")
_STRING: Final = re.compile(rb'"(?:[^"\\]|\\.)*"', re.DOTALL)
_BRACKET: Final = re.compile(rb"[\[\]{}]")
_POOL: Final = re.compile(r"[A-Za-z0-9_-]{1,100}")


def check_text(field: str, value: str, most: int = NAME_CHARACTERS) -> str:
    """A line of text: not blank, not endless, nothing in it that a terminal or log would obey."""
    if not value.strip():
        raise InvalidJob(field, "it is blank; give it some text")
    if len(value) > most:
        raise InvalidJob(field, f"it has {len(value):,} characters; give {most:,} at most")
    if has_control(value):
        raise InvalidJob(field, "it holds a control character; take that out")
    return value


def has_control(value: str) -> bool:
    """Blanks of any width, and what joins two emoji, are none."""
    return not value.isprintable() and _CONTROL.search(value) is not None


def check_instant(field: str, moment: datetime) -> datetime:
    """In UTC. A moment without an offset is nobody's; beyond these years no run can have its id."""
    if moment.tzinfo is None:
        raise InvalidJob(field, f"{moment.isoformat()} has no offset: add an offset or Z")
    if not FIRST_YEAR < moment.year <= LAST_YEAR:
        raise InvalidJob(field, f"give a year from {FIRST_YEAR + 1} to {LAST_YEAR}")
    return moment.astimezone(UTC)


def check_pool(field: str, value: str) -> str:
    """A pool's name is part of its topics' names."""
    if not _POOL.fullmatch(value):
        raise InvalidJob(field, "use letters, digits, - and _, 100 at most")
    return value


def document(field: str, raw: msgspec.Raw, most_bytes: int) -> Any:
    """The JSON value that `raw` holds, if the ledger can keep it."""
    data = bytes(raw)
    if len(data) > most_bytes:
        raise InvalidJob(
            field,
            f"it has {len(data):,} bytes; give {most_bytes:,} at most, and a reference to the rest",
        )
    if b"\\u0000" in data and _NUL.search(data):
        raise InvalidJob(field, r"it holds \u0000, which PostgreSQL cannot keep; take that out")
    check_depth(field, data)
    try:
        return msgspec.json.decode(data)
    except UnicodeDecodeError:
        raise InvalidJob(field, "it is not UTF-8; send text in UTF-8") from None
    except msgspec.DecodeError as error:
        raise InvalidJob(field, str(error)) from None


def check_depth(field: str, data: bytes) -> None:
    if data.count(b"[") + data.count(b"{") <= DEEPEST:
        return
    depth = deepest = 0
    for bracket in _BRACKET.findall(_STRING.sub(b"", data)):
        depth += 1 if bracket in b"[{" else -1
        deepest = max(deepest, depth)
    if deepest > DEEPEST:
        raise InvalidJob(field, f"it is {deepest} levels deep; give {DEEPEST} at most")
