"""A body laid over a job: over a blank one for a submission, over the known one for an edit."""

from collections.abc import Mapping
from typing import Any, Final
from uuid import UUID

import msgspec

from lamplighter.contracts import http_fields as fields
from lamplighter.contracts.http_timing import is_retimed, schedule_of
from lamplighter.contracts.jobs import JobBody, given
from lamplighter.domain.errors import InvalidGraph, InvalidJob
from lamplighter.domain.job import Job, Policy, default_overlap
from lamplighter.domain.policy import ScheduleType
from lamplighter.domain.retry import check_backoff
from lamplighter.domain.schedule import Schedule

TASKS_POOL: Final = "tasks"
LAMBDA_SECONDS: Final = 300  # what a Lambda pool gives a run; longer ones go to tasks

Said = Mapping[str, Any]

_ONE_BY_ONE: Final[dict[str, fields.Reader]] = {
    "name": fields.name,
    "payload": fields.payload,
    "target": fields.target,
    "command": fields.command,
    "priority": fields.as_it_is,
    "pool": fields.pool,
    "max_retries": fields.as_it_is,
    "timeout_seconds": fields.as_it_is,
    "start_deadline_seconds": fields.as_it_is,
    "expires_at": fields.instant,
    "overlap": fields.as_it_is,
    "ordering_key": fields.key,
    "concurrency_key": fields.key,
    "max_concurrency": fields.as_it_is,
    "tags": fields.tags,
    "after": fields.upstreams,
    "dependencies": fields.upstreams,
}
_OF_POLICY: Final[dict[str, fields.Reader]] = {
    "backoff": fields.as_it_is,
    "fan_out": fields.fan_out,
    "on_ambiguous": fields.as_it_is,
    "trigger_rule": fields.as_it_is,
    "blocked_seconds": fields.as_it_is,
    "critical": fields.as_it_is,
    "metadata": fields.metadata,
}
_SHORT_FOR: Final = {"command": "target", "dependencies": "after"}
_DEFAULTS: Final[dict[str, Any]] = {
    each.name: each.default for each in msgspec.structs.fields(Job) if not each.required
}
_NO_POLICY: Final = Policy()
_POLICY_DEFAULTS: Final = msgspec.structs.asdict(_NO_POLICY)


def new_job(job_id: UUID, tenant: str, body: JobBody) -> Job:
    """The job that a submission describes; its schedule is not validated yet."""
    _name_of(body)
    said = {name: value for name, value in given(body).items() if value is not None}
    schedule = schedule_of(said)
    changes = _changes(said, schedule, _NO_POLICY)
    changes.setdefault("overlap", default_overlap(schedule))
    changes.setdefault("pool", _default_pool(changes.get("target"), changes.get("timeout_seconds")))
    return _checked(
        Job(job_id=job_id, tenant=tenant, repeats=schedule.schedule_type.is_recurring, **changes)
    )


def but_its_own(body: JobBody) -> bytes:
    """All of a body but the job's name and payload. Where it is the same, so is all else."""
    rest = msgspec.structs.replace(body, name=msgspec.UNSET, payload=msgspec.UNSET)
    return msgspec.json.encode(rest)


def another(like: Job, job_id: UUID, body: JobBody) -> Job:
    """The job of a body that differs from the one of `like` in name and payload alone."""
    payload = None
    if body.payload is not msgspec.UNSET and bytes(body.payload) != b"null":
        payload = fields.payload("payload", body.payload)
    return msgspec.structs.replace(like, job_id=job_id, name=_name_of(body), payload=payload)


def _name_of(body: JobBody) -> str:
    if body.name is None or body.name is msgspec.UNSET:
        raise InvalidJob("name", "give the job a name")
    return fields.name("name", body.name)


def changed_job(before: Job, body: JobBody) -> Job:
    """The job as an edit leaves it: only what the body names changes."""
    said = given(body)
    if not said:
        return before
    schedule = schedule_of(said, before.schedule)
    changes = _changes(said, schedule, before.policy)
    follows = said.get("overlap") is None and (
        "overlap" in said or before.overlap is default_overlap(before.schedule)
    )
    if follows:
        changes["overlap"] = default_overlap(schedule)
    if is_retimed(said):
        changes["repeats"] = schedule.schedule_type.is_recurring
    after = msgspec.structs.replace(before, **changes)
    if said.get("pool") is None and ("pool" in said or before.pool == _pool_by_default(before)):
        after = msgspec.structs.replace(after, pool=_pool_by_default(after))
    return _checked(after)


def _changes(said: Said, schedule: Schedule, policy: Policy) -> dict[str, Any]:
    _check_apart(said)
    changes: dict[str, Any] = {"schedule": schedule}
    of_policy: dict[str, Any] = {}
    for name, value in said.items():
        if name in _ONE_BY_ONE:
            meant = _SHORT_FOR.get(name, name)
            changes[meant] = _read(_ONE_BY_ONE[name], name, value, _DEFAULTS.get(meant))
        elif name in _OF_POLICY:
            of_policy[name] = _read(_OF_POLICY[name], name, value, _POLICY_DEFAULTS[name])
    if said.get("pool") is not None:
        of_policy["fan_out"] = ()
    if of_policy:
        changes["policy"] = msgspec.structs.replace(policy, **of_policy)
    return changes


def _read(reader: fields.Reader, name: str, value: Any, default: Any) -> Any:
    return default if value is None and name != "name" else reader(name, value)


def _check_apart(said: Said) -> None:
    """What says the same thing twice is refused: one of them would have to be ignored."""
    for one, other in (("command", "target"), ("dependencies", "after"), ("fan_out", "pool")):
        if said.get(one) is not None and said.get(other) is not None:
            raise InvalidJob(one, f"give either {other} or {one}, not both")


def _pool_by_default(job: Job) -> str:
    return _default_pool(job.target, job.timeout_seconds)


def _default_pool(target: Said | None, timeout_seconds: int | None) -> str:
    """A command, and what may run for longer than a Lambda pool allows, belongs to `tasks`."""
    is_command = target is not None and target["type"] == "command"
    is_long = (timeout_seconds or 0) > LAMBDA_SECONDS
    return TASKS_POOL if is_command or is_long else str(_DEFAULTS["pool"])


def _checked(job: Job) -> Job:
    if job.concurrency_key is not None and job.max_concurrency is None:
        raise InvalidJob("max_concurrency", "give it; a concurrency_key needs its limit")
    if job.schedule.schedule_type is ScheduleType.AFTER and not job.after:
        raise InvalidGraph("after", "give at least one upstream; schedule_type AFTER needs it")
    check_backoff(job.policy.backoff)
    return job
