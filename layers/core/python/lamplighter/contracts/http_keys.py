"""Idempotency-Key and If-Match: how a client says "this again" and "only if nothing changed"."""

import hashlib
from datetime import datetime
from typing import Final
from uuid import UUID

import msgspec

from lamplighter.contracts.http import Request
from lamplighter.contracts.http_checks import KEY_CHARACTERS, check_text
from lamplighter.contracts.http_errors import InvalidParameter
from lamplighter.domain.errors import InvalidJob
from lamplighter.domain.ids import derived_job_id, new_job_id, new_job_ids

KEY_HEADER: Final = "Idempotency-Key"
# On an answer that was given before.
REPLAYED: Final = {"Idempotency-Replayed": "true"}


class Sender(msgspec.Struct, frozen=True):
    """Who submits, under which key, and the fingerprint of what they sent with it."""

    tenant: str
    key: str | None = None
    fingerprint: bytes | None = None
    traceparent: str | None = None  # W3C's header, as it came

    def job_id(self, now: datetime, part: str = "") -> UUID:
        """With a key always the same id: a retry, on whichever path, makes no second job."""
        if self.key is None:
            return new_job_id(now)
        # NUL cannot be part of a key, so no two submissions can meet by accident.
        return derived_job_id(self.tenant, f"{self.key}\0{part}" if part else self.key)

    def job_ids(self, now: datetime, count: int) -> list[UUID]:
        """Of the parts 0, 1, 2 … of one submission."""
        if self.key is None:
            return new_job_ids(now, count)
        return [self.part_id(now, n, str(n)) for n in range(count)]

    def part_id(self, now: datetime, n: int, part: str) -> UUID:
        """The first job has the key's own id, so whatever else comes under it meets that one."""
        return self.job_id(now, part if n else "")


def sender_of(request: Request) -> Sender:
    key = key_of(request)
    print_of_body = None if key is None else fingerprint(request.body, request.path)
    return Sender(request.tenant, key, print_of_body, request.headers.get("traceparent"))


def key_of(request: Request) -> str | None:
    key = request.headers.get(KEY_HEADER.lower())
    if key is None:
        return None
    try:
        return check_text(KEY_HEADER, key, KEY_CHARACTERS)
    except InvalidJob as error:
        raise InvalidParameter(error.field, error.fix) from None


def fingerprint(body: bytes, path: str = "") -> bytes:
    """Of what it says, not of how it is written: order of fields and white space do not count.

    The same list of jobs means one thing as a batch and another as a workflow: hence `path`.
    """
    canonical = msgspec.json.encode(msgspec.json.decode(body), order="sorted")
    return hashlib.sha256(path.encode() + canonical).digest()


def expected_version(request: Request) -> int | None:
    """The version that If-Match names; None where any will do."""
    given = request.headers.get("if-match", "*").strip()
    if given == "*":
        return None
    text = given.removeprefix("W/").strip('"')
    if not text.isdecimal() or len(text) > 9:
        raise InvalidParameter("If-Match", 'give the job\'s version as in its ETag, like "3"')
    return int(text)
