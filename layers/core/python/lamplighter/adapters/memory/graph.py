"""Jobs and their edges: checked before anything is written, then kept with an index."""

from collections.abc import Iterable, Mapping
from uuid import UUID

from lamplighter.adapters.memory.books import Books
from lamplighter.domain.dependents import follow, in_order, upstream_ids
from lamplighter.domain.graph import check_graph
from lamplighter.domain.job import Job, JobStatus


def settle(books: Books, new: Mapping[UUID, Job]) -> list[Job]:
    """The jobs, upstreams first, each knowing whether it repeats. Refuses what cannot be."""
    for tenant in {job.tenant for job in new.values()}:
        _check_edges(books, tenant, {k: job for k, job in new.items() if job.tenant == tenant})
    settled: dict[UUID, Job] = {}
    for job in in_order(new.values()):
        upstreams = [settled.get(up) or books.jobs[up] for up in upstream_ids(job)]
        settled[job.job_id] = follow(job, upstreams)
    return list(settled.values())


def _check_edges(books: Books, tenant: str, new: Mapping[UUID, Job]) -> None:
    edges = {job_id: upstream_ids(job) for job_id, job in new.items()}
    roots = [up for ups in edges.values() for up in ups]
    check_graph(edges, _known_above(books, tenant, roots), _over(books, tenant, roots))


def _over(books: Books, tenant: str, roots: Iterable[UUID]) -> dict[UUID, str]:
    found = [books.jobs[root] for root in roots if root in books.jobs]
    own = [job for job in found if job.tenant == tenant]
    return {job.job_id: job.status.name for job in own if not _is_live(job, tenant)}


def _known_above(books: Books, tenant: str, roots: Iterable[UUID]) -> dict[UUID, list[UUID]]:
    """The live jobs of this tenant that can be reached upwards, with their upstreams."""
    known: dict[UUID, list[UUID]] = {}
    ahead = list(roots)
    while ahead:
        job = books.jobs.get(ahead.pop())
        if job is None or job.job_id in known or not _is_live(job, tenant):
            continue
        known[job.job_id] = upstream_ids(job)
        ahead += known[job.job_id]
    return known


def _is_live(job: Job, tenant: str) -> bool:
    return job.tenant == tenant and job.status < JobStatus.CANCELLED


def keep(books: Books, job: Job) -> Job:
    """Write a job, new or changed, with its edges; what it was before goes into the archive."""
    before = books.jobs.get(job.job_id)
    if before is not None:
        books.versions[job.job_id] = (*books.versions.get(job.job_id, ()), before)
        for upstream in upstream_ids(before):
            del books.dependents_of[upstream][job.job_id]
    for upstream in upstream_ids(job):
        books.dependents_of[upstream][job.job_id] = None
    books.jobs[job.job_id] = job
    return job
