"""A whole graph of jobs in one body: its jobs name each other by keys that mean nothing outside."""

from collections.abc import Iterable, Mapping
from typing import TypeVar
from uuid import UUID

import msgspec

from lamplighter.contracts.http_checks import MOST_EDGES, MOST_JOBS, check_text
from lamplighter.contracts.jobs import Edge, JobBody, WorkflowBody, WorkflowJobBody
from lamplighter.domain.errors import InvalidGraph, InvalidJob
from lamplighter.domain.graph import topological_order

T = TypeVar("T", bound=InvalidJob)


def keys_of(workflow: WorkflowBody) -> list[str]:
    """The key of each job, in order; refuses what is missing or not unique."""
    check_count(len(workflow.jobs))
    keys: dict[str, int] = {}
    for n, body in enumerate(workflow.jobs):
        key = body.key or body.name or ""
        check_text(f"jobs[{n}].key", key)
        if key in keys:
            raise InvalidGraph(
                f"jobs[{n}].key", f"jobs[{keys[key]}] has the key {key!r} too; keys are unique"
            )
        keys[key] = n
    return list(keys)


def check_count(jobs: int, field: str = "jobs") -> None:
    if not 1 <= jobs <= MOST_JOBS:
        raise InvalidJob(field, f"there are {jobs:,}; give 1 to {MOST_JOBS:,}")


def check_edges(bodies: Iterable[JobBody]) -> None:
    """Before any of them is looked at: a short body can mean millions."""
    edges = sum(len(body.after or ()) + len(body.dependencies or ()) for body in bodies)
    if edges > MOST_EDGES:
        raise InvalidGraph(
            "after",
            f"the jobs name {edges:,} upstreams; give {MOST_EDGES:,} in all at most, or let one"
            " job wait for many and the others for it",
        )


def check_cycles(workflow: WorkflowBody, keys: list[str]) -> None:
    """In the words of the body. The ledger checks again, by ids, with all that it knows."""
    known = set(keys)
    edges = {
        key: [name for name in map(_name, _edges(body)) if name in known]
        for key, body in zip(keys, workflow.jobs, strict=True)
    }
    topological_order(edges)


def resolved(body: WorkflowJobBody, ids: Mapping[str, UUID]) -> WorkflowJobBody:
    """The body with keys replaced by the ids that their jobs will have."""
    after = tuple(_resolved_edge(each, ids) for each in _edges(body))
    if not after:
        return body
    return msgspec.structs.replace(body, after=after, dependencies=msgspec.UNSET)


def _edges(body: WorkflowJobBody) -> tuple[str | Edge, ...]:
    if body.after and body.dependencies:
        raise InvalidJob("dependencies", "give either after or dependencies, not both")
    return body.after or body.dependencies or ()


def _name(edge: str | Edge) -> str:
    return edge if isinstance(edge, str) else edge.job_id


def _resolved_edge(edge: str | Edge, ids: Mapping[str, UUID]) -> str | Edge:
    job_id = ids.get(_name(edge))
    if job_id is None:
        return edge
    if isinstance(edge, str):
        return str(job_id)
    return msgspec.structs.replace(edge, job_id=str(job_id))


def at(place: str, error: T) -> T:
    """The same refusal, with the way to the field: `jobs[3].name`."""
    moved: T = type(error)(f"{place}.{error.field}", error.fix)
    return moved
