"""Submit: a body becomes a job with its first run, in one transaction, all or nothing.

A job is first written down in `ledger.submit`. Whatever fails before that line has changed nothing;
whatever fails after it, the queue's hint for instance, loses nothing. While the ledger is away,
jobs that wait for no others are written down on the bus instead (`stages/defer.py`).
"""

import logging
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Any
from uuid import UUID

import msgspec

from lamplighter.contracts.http import Request, Response
from lamplighter.contracts.http_checks import check_text
from lamplighter.contracts.http_decode import decode, decode_batch
from lamplighter.contracts.http_job import another, but_its_own, new_job
from lamplighter.contracts.http_keys import REPLAYED, Sender, sender_of
from lamplighter.contracts.http_workflow import (
    at,
    check_count,
    check_cycles,
    check_edges,
    keys_of,
    resolved,
)
from lamplighter.contracts.jobs import JobBody, NewJobBody, WorkflowBody, given
from lamplighter.domain.errors import (
    InvalidJob,
    InvalidSchedule,
    JobNotFound,
    LedgerUnavailable,
)
from lamplighter.domain.job import Job
from lamplighter.domain.run import Accepted, Submission
from lamplighter.domain.target import revealed
from lamplighter.fail_points import FailPoint, fail_point
from lamplighter.stages.desk import Desk, Timings
from lamplighter.telemetry.logs import keys, listed

_log = logging.getLogger("lamplighter.submit")
_ITEMS = "items"
# Kept, but not in the ledger yet: no status of a job, since no job can be read by then.
ACCEPTED = "ACCEPTED"


class Draft(msgspec.Struct, frozen=True, gc=False):
    """A job to be: its id, where in the request it stands, and what is noted in its metadata."""

    job_id: UUID
    body: JobBody
    place: str = ""
    note: dict[str, Any] = {}


class Receipt(msgspec.Struct, frozen=True):
    """The ids in the order of the request. `replayed`: all of it was there already.

    `deferred`: the bus has it, and the ledger will when it is back.
    """

    job_ids: list[UUID]
    replayed: bool = False
    deferred: bool = False


def accept(desk: Desk, sender: Sender, body: JobBody) -> Receipt:
    now = desk.now()
    return _submit(desk, sender, [Draft(sender.job_id(now), body)], now)


def accept_batch(desk: Desk, sender: Sender, bodies: Sequence[JobBody]) -> Receipt:
    """Many jobs that have nothing to do with each other, but are accepted together."""
    check_count(len(bodies))
    now = desk.now()
    ids = sender.job_ids(now, len(bodies))
    drafts = [
        Draft(job_id, body, f"jobs[{n}]")
        for n, (job_id, body) in enumerate(zip(ids, bodies, strict=True))
    ]
    return _submit(desk, sender, drafts, now)


def accept_items(desk: Desk, sender: Sender, body: NewJobBody) -> tuple[UUID, Receipt]:
    """One job per item, alike but for the payload, under one group."""
    items = body.items or ()
    check_count(len(items), _ITEMS)
    if body.payload is not msgspec.UNSET:
        raise InvalidJob("payload", "leave it out; each item is a payload")
    now = desk.now()
    group = sender.job_id(now, "group")
    alike = {name: value for name, value in given(body).items() if name != _ITEMS}
    drafts = [
        Draft(
            job_id,
            JobBody(**alike, payload=item),
            f"items[{n}]",
            {"group_id": str(group), "group_index": n},
        )
        for n, (job_id, item) in enumerate(zip(sender.job_ids(now, len(items)), items, strict=True))
    ]
    return group, _submit(desk, sender, drafts, now)


def accept_workflow(desk: Desk, sender: Sender, workflow: WorkflowBody) -> tuple[UUID, Receipt]:
    """A graph at once. Its jobs name each other by keys, which become ids here."""
    keys = keys_of(workflow)
    check_edges(workflow.jobs)
    check_cycles(workflow, keys)
    now = desk.now()
    workflow_id = sender.job_id(now, "workflow")
    ids = {key: sender.part_id(now, n, f"job {key}") for n, key in enumerate(keys)}
    note = {"workflow_id": str(workflow_id)}
    if workflow.name is not None:
        note["workflow"] = check_text("name", workflow.name)
    drafts = [
        Draft(ids[key], resolved(body, ids), f"jobs[{n}]", {**note, "workflow_key": key})
        for n, (key, body) in enumerate(zip(keys, workflow.jobs, strict=True))
    ]
    # A graph is the ledger's to check: nobody else accepts one.
    at_desk = msgspec.structs.replace(desk, deferral=None)
    return workflow_id, _submit(at_desk, sender, drafts, now)


def _submit(desk: Desk, sender: Sender, drafts: Sequence[Draft], now: datetime) -> Receipt:
    check_edges(draft.body for draft in drafts)
    job_ids = [draft.job_id for draft in drafts]
    try:
        submissions = _prepared(desk, sender, drafts, now)
    except InvalidJob as error:
        submissions = _known(desk, sender, drafts, error)
    began = datetime.now(UTC)
    accepted = _written(desk, submissions, now)
    if desk.tracer is not None:
        desk.tracer.submitted(sender.traceparent, job_ids, began)
    if accepted is None:
        return Receipt(job_ids, deferred=True)
    fail_point(FailPoint.SUBMIT_COMMITTED)
    told = keys(
        tenant=sender.tenant,
        job_ids=listed(_log, job_ids),
        run_ids=listed(_log, (run.run_id for run in accepted.runs)),
    )
    _log.info("jobs submitted", extra=told)
    desk.tell_queue(accepted.runs, now)
    desk.tell_submitted(submissions, accepted, now)
    return Receipt(job_ids, replayed=not accepted.created and sender.key is not None)


def _written(desk: Desk, submissions: Sequence[Submission], now: datetime) -> Accepted | None:
    """None: deferred. Whether upstreams exist, and close no circle, only the ledger can say."""
    if desk.deferral is None or any(each.job.after for each in submissions):
        return desk.ledger.submit(submissions)
    return desk.deferral.submit(desk.ledger, submissions, now)


def _prepared(
    desk: Desk, sender: Sender, drafts: Sequence[Draft], now: datetime
) -> list[Submission]:
    """Jobs of a batch are often alike but for name and payload: what is alike is checked once."""
    timings = Timings(desk, sender.tenant, now)
    known: dict[bytes, Submission] = {}
    submissions: list[Submission] = []
    for draft in drafts:
        try:
            alike = but_its_own(draft.body) if draft.place else b""
            like = known.get(alike)
            if like is None:
                like = known[alike] = _checked(desk, sender, draft, timings)
                job = like.job
            else:
                job = another(like.job, draft.job_id, draft.body)
        except InvalidJob as error:
            raise at(draft.place, error) if draft.place else error from None
        kept = _noted(job, draft.note) if draft.note else job
        submissions.append(msgspec.structs.replace(like, job=kept))
    return submissions


def _checked(desk: Desk, sender: Sender, draft: Draft, timings: Timings) -> Submission:
    job = new_job(draft.job_id, sender.tenant, draft.body)
    if job.target is not None:
        desk.check_target(revealed(job.target, None))
    desk.check_pools(job)
    if job.expires_at is not None and job.expires_at <= timings.now:
        raise InvalidJob("expires_at", "it has passed; give a later time, or leave it out")
    timing = timings.of_new(job.schedule)
    kept = msgspec.structs.replace(job, schedule=timing.schedule)
    return Submission(kept, timing.first_fire, timing.next_fire, sender.fingerprint)


def _noted(job: Job, note: Mapping[str, Any]) -> Job:
    policy = msgspec.structs.replace(job.policy, metadata={**job.policy.metadata, **note})
    return msgspec.structs.replace(job, policy=policy)


def _known(
    desk: Desk, sender: Sender, drafts: Sequence[Draft], error: InvalidJob
) -> list[Submission]:
    """The jobs that an earlier request under this key made, for the ledger to compare.

    What was right when it was accepted may be wrong by now: a time that has passed since.
    """
    if sender.key is None:
        raise error
    try:
        jobs = [desk.ledger.job(sender.tenant, draft.job_id) for draft in drafts]
    except JobNotFound:
        raise error from None
    except LedgerUnavailable:
        if _may_have_been_right(error):
            raise
        raise error from None
    return [Submission(job, fingerprint=sender.fingerprint) for job in jobs]


def _may_have_been_right(error: InvalidJob) -> bool:
    return isinstance(error, InvalidSchedule) or error.field.endswith("expires_at")


def post_job(desk: Desk, request: Request) -> Response:
    body = decode(request.json(), NewJobBody)
    sender = sender_of(request)
    if body.items is not msgspec.UNSET and body.items is not None:
        group, receipt = accept_items(desk, sender, body)
        return _created(receipt, {"group_id": group, "job_ids": receipt.job_ids})
    receipt = accept(desk, sender, body)
    [job_id] = receipt.job_ids
    return _created(receipt, {"job_id": job_id}, {"Location": f"/jobs/{job_id}"})


def post_batch(desk: Desk, request: Request) -> Response:
    batch = decode_batch(request.json())
    receipt = accept_batch(desk, sender_of(request), batch.jobs)
    return _created(receipt, {"job_ids": receipt.job_ids})


def post_workflow(desk: Desk, request: Request) -> Response:
    workflow = decode(request.json(), WorkflowBody)
    workflow_id, receipt = accept_workflow(desk, sender_of(request), workflow)
    by_key = dict(zip(keys_of(workflow), receipt.job_ids, strict=True))
    return _created(receipt, {"workflow_id": workflow_id, "jobs": by_key})


def _created(
    receipt: Receipt, body: dict[str, Any], headers: Mapping[str, str] | None = None
) -> Response:
    told = dict(headers or {})
    if receipt.deferred:
        return Response(HTTPStatus.ACCEPTED, {**body, "status": ACCEPTED}, told)
    if receipt.replayed:
        told |= REPLAYED
    return Response(HTTPStatus.CREATED, body, told)
