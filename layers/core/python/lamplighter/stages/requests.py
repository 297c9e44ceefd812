"""Requests: what was accepted while the ledger was away is written down now that it is back.

It was right when it was accepted, so a time that has passed since is no reason to refuse it: it
runs as its schedule has it. What cannot be kept all the same becomes a job that everybody can see
is REJECTED, and why.
"""

import logging
from collections.abc import Sequence
from uuid import UUID

import msgspec

from lamplighter.contracts.requests import read_request
from lamplighter.domain.errors import IdempotencyConflict, InvalidJob
from lamplighter.domain.run import Accepted, Submission
from lamplighter.fail_points import FailPoint, fail_point
from lamplighter.ports.bus import Record
from lamplighter.stages.desk import Desk

_log = logging.getLogger("lamplighter.requests")


class Refused(msgspec.Struct, frozen=True):
    """A record for the dead letters: it cannot be read, or its key was used for something else."""

    record: Record
    why: str


class Persisted(msgspec.Struct):
    """What a batch of records came to; those that were there already are in none of these."""

    created: set[UUID] = msgspec.field(default_factory=set)
    rejected: set[UUID] = msgspec.field(default_factory=set)
    refused: list[Refused] = msgspec.field(default_factory=list)


def persist(desk: Desk, records: Sequence[Record]) -> Persisted:
    """Write them down; again, if it must be. LedgerUnavailable: all of them are to come again."""
    persisted = Persisted()
    read = _read(records, persisted)
    try:
        _submit(desk, [each for _, jobs in read for each in jobs], persisted)
    except (InvalidJob, IdempotencyConflict):
        for record, jobs in read:
            _submit_each(desk, record, jobs, persisted)
    return persisted


def _read(
    records: Sequence[Record], persisted: Persisted
) -> list[tuple[Record, tuple[Submission, ...]]]:
    found = []
    for record in records:
        try:
            found.append((record, read_request(record.value).jobs))
        except msgspec.DecodeError as error:  # ValidationError is one
            persisted.refused.append(Refused(record, f"not a job request: {error}"))
    return found


def _submit(desk: Desk, jobs: Sequence[Submission], persisted: Persisted) -> None:
    if not jobs:
        return
    for each in jobs:
        if each.job.target is not None:
            desk.check_target(each.job.target)
    accepted: Accepted = desk.ledger.submit(jobs)
    fail_point(FailPoint.REQUEST_PERSISTED)
    now = desk.now()
    desk.tell_queue(accepted.runs, now)
    desk.tell_submitted(jobs, accepted, now)
    persisted.created |= accepted.created


def _submit_each(
    desk: Desk, record: Record, jobs: Sequence[Submission], persisted: Persisted
) -> None:
    conflicts = [str(each.job.job_id) for each in jobs if not _submit_one(desk, each, persisted)]
    if conflicts:
        why = f"{IdempotencyConflict.__doc__} {', '.join(conflicts)}"
        persisted.refused.append(Refused(record, why))


def _submit_one(desk: Desk, each: Submission, persisted: Persisted) -> bool:
    """False: another job has this id, and keeps it; there is no place for this one."""
    try:
        _submit(desk, [each], persisted)
    except IdempotencyConflict as error:
        _log.error("job %s refused: %s", each.job.job_id, error)
        return False
    except InvalidJob as error:
        _log.warning("job %s rejected: %s", each.job.job_id, error)
        persisted.rejected |= desk.ledger.reject([each], str(error))
    return True
