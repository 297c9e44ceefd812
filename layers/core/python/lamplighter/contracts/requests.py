"""On `job-requests`: submissions that were accepted while the ledger was away.

Each is whole and was found right when it was accepted: its id is fixed, its schedule is anchored,
its first fires are known. Writing it down later, once or twice, makes the same job.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Final

import msgspec

from lamplighter.contracts.http_errors import BodyTooLarge
from lamplighter.contracts.topics import JOB_REQUESTS
from lamplighter.domain.run import Submission
from lamplighter.ports.bus import MAX_MESSAGE_BYTES, Message

# For the key, and for what stands around the jobs.
_AROUND_BYTES: Final = 256


class JobRequest(msgspec.Struct, frozen=True):
    """Jobs that came in one request, or a part of them where all would not fit."""

    accepted_at: datetime
    jobs: tuple[Submission, ...]


class _Encoded(msgspec.Struct, frozen=True):
    accepted_at: datetime
    jobs: Sequence[msgspec.Raw]


_REQUEST: Final = msgspec.json.Decoder(JobRequest)


def read_request(value: bytes) -> JobRequest:
    """Raises msgspec.ValidationError or msgspec.DecodeError for what is not one."""
    return _REQUEST.decode(value)


def request_messages(
    submissions: Sequence[Submission], accepted_at: datetime, most_bytes: int = MAX_MESSAGE_BYTES
) -> list[Message]:
    """As few as hold them all. The key is the first job's id, so a retry lands where it did."""
    return [
        Message(
            JOB_REQUESTS.name,
            msgspec.json.encode(_Encoded(accepted_at, [raw for _, raw in part])),
            part[0][0].job.job_id.bytes,
        )
        for part in _parts(submissions, most_bytes - _AROUND_BYTES)
    ]


def _parts(
    submissions: Sequence[Submission], most_bytes: int
) -> Iterator[list[tuple[Submission, msgspec.Raw]]]:
    part: list[tuple[Submission, msgspec.Raw]] = []
    size = 0
    for each in submissions:
        encoded = msgspec.json.encode(each)
        if len(encoded) > most_bytes:
            raise BodyTooLarge(
                f"Job {each.job.name!r} has {len(encoded):,} bytes; while the ledger is away "
                f"{most_bytes:,} can be kept. Leave the data elsewhere, or send it again later."
            )
        if part and size + len(encoded) > most_bytes:
            yield part
            part, size = [], 0
        part.append((each, msgspec.Raw(encoded)))
        size += len(encoded) + 1  # and a comma
    if part:
        yield part
