"""Edges between jobs: checked under the tenant's graph lock, in the submitting transaction."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from uuid import UUID

from psycopg import Cursor

from lamplighter.adapters.postgres.arrays import ints, texts, uuids
from lamplighter.adapters.postgres.codec import row_to_job
from lamplighter.adapters.postgres.database import Row
from lamplighter.adapters.postgres.open_runs import open_rows
from lamplighter.adapters.postgres.queries import queries
from lamplighter.domain.dependents import SeenUpstream, follow, in_order, upstream_ids
from lamplighter.domain.graph import check_graph
from lamplighter.domain.ids import BY_SCHEDULE, MILLISECOND, fire_of, first_run_id
from lamplighter.domain.job import Job, JobStatus

_SQL = queries("graph")


class Graph:
    def __init__(self, cursor: Cursor[Row]) -> None:
        self._cursor = cursor

    def _jobs(self, name: str, job_ids: Collection[UUID], **params: str) -> dict[UUID, Job]:
        if not job_ids:
            return {}
        all_params = {"job_ids": uuids(job_ids), **params}
        rows = self._cursor.execute(_SQL[name], all_params, binary=True).fetchall()
        return {row[0]: row_to_job(row) for row in rows}

    def lock(self, tenant: str) -> None:
        """Nobody else adds edges. Comes before the lock of any job, here and everywhere."""
        self._cursor.execute(_SQL["lock_graph"], {"tenant": tenant})

    def keep(self, tenant: str) -> None:
        """Nobody adds edges, and others may see to that as well. Before any job's lock, too."""
        self._cursor.execute(_SQL["keep_graph"], {"tenant": tenant})

    def share(self, run_ids: Collection[UUID]) -> None:
        """Edges that are being added to the graphs of these runs are there when this returns."""
        self._cursor.execute(_SQL["share_graphs"], {"run_ids": uuids(run_ids)})

    def busy(self, tenants: Collection[str]) -> set[str]:
        """Those to whose graphs somebody adds edges just now. The others keep still from here."""
        params = {"tenants": texts(sorted(tenants))}
        return {row[0] for row in self._cursor.execute(_SQL["busy_graphs"], params).fetchall()}

    def upstreams_among(self, jobs: Mapping[UUID, str]) -> set[UUID]:
        """Those of these jobs that others wait for; of a graph that is just growing, all."""
        busy = self.busy(set(jobs.values()))
        ids = {"job_ids": uuids(jobs)}
        found = {row[0] for row in self._cursor.execute(_SQL["upstreams_among"], ids, binary=True)}
        return found | {job_id for job_id, tenant in jobs.items() if tenant in busy}

    def admit(self, tenant: str, jobs: Sequence[Job]) -> list[Job]:
        """The jobs, upstream first, each knowing whether it repeats; refuses bad edges."""
        self.lock(tenant)
        new = {job.job_id: upstream_ids(job) for job in jobs}
        outside = {up for ups in new.values() for up in ups} - new.keys()
        known = self._jobs("lock_jobs", outside, tenant=tenant)
        alive = {job_id: job for job_id, job in known.items() if job.status < JobStatus.CANCELLED}
        # One that was cancelled may be known as somebody else's upstream: it is nobody's any more.
        edges = self._edges_above(alive)
        reachable = {up: edges[up] for up in edges if up in alive or up not in outside}
        over = {job_id: known[job_id].status.name for job_id in known.keys() - alive.keys()}
        check_graph(new, reachable, over)
        resolved = dict(alive)
        for job in in_order(jobs):
            resolved[job.job_id] = follow(job, [resolved[up] for up in upstream_ids(job)])
        return [resolved[job.job_id] for job in in_order(jobs)]

    def _edges_above(self, jobs: Iterable[UUID]) -> dict[UUID, list[UUID]]:
        edges: dict[UUID, list[UUID]] = {job_id: [] for job_id in jobs}
        params = {"job_ids": uuids(edges)}
        for job_id, up in self._cursor.execute(_SQL["edges_above"], params, binary=True).fetchall():
            edges.setdefault(job_id, []).append(up)
            edges.setdefault(up, [])
        return edges

    def insert_edges(self, jobs: Iterable[Job]) -> None:
        edges = [(job, n, edge) for job in jobs for n, edge in enumerate(job.after)]
        if not edges:
            return
        self._cursor.execute(
            _SQL["insert_edges"],
            {
                "job_ids": uuids(job.job_id for job, _, _ in edges),
                "upstream_ids": uuids(UUID(edge.job_id) for _, _, edge in edges),
                "tenants": texts(job.tenant for job, _, _ in edges),
                "positions": ints(n for _, n, _ in edges),
                "rules": texts(edge.rule.value for _, _, edge in edges),
                "withins": ints(edge.within_seconds for _, _, edge in edges),
            },
        )

    def delete_edges(self, job_id: UUID) -> None:
        self._cursor.execute(_SQL["delete_edges"], {"job_id": job_id})

    def dependents_below(self, job_ids: Collection[UUID]) -> list[Job]:
        """Jobs without a schedule of their own that these give their fires to, upstream first."""
        return in_order(self._jobs("dependents_below", job_ids).values())

    def direct_dependents(self, job_ids: Collection[UUID]) -> dict[UUID, Job]:
        return self._jobs("direct_dependents", job_ids)

    def jobs(self, job_ids: Collection[UUID]) -> dict[UUID, Job]:
        return self._jobs("jobs_by_id", job_ids)

    def kept(self, job_id: UUID) -> Job | None:
        """The job, which nobody forgets, edits or cancels until this transaction ends."""
        return self._jobs("keep_jobs", [job_id]).get(job_id)

    def kept_below(self, job_id: UUID) -> list[Job]:
        """Those that take their fires from it, kept as well; not who was cancelled meanwhile."""
        below = [job.job_id for job in self.dependents_below([job_id])]
        jobs = self._jobs("keep_jobs", below).values()
        return in_order(job for job in jobs if job.status is not JobStatus.CANCELLED)

    def seen(self, job_ids: Collection[UUID], now: datetime) -> dict[UUID, SeenUpstream]:
        """These jobs with the fires that a new dependent would wait for."""
        fires: dict[UUID, set[datetime]] = {job_id: set() for job_id in job_ids}
        if fires:
            params = {"job_ids": uuids(fires), "ahead": first_run_id(now + MILLISECOND)}
            rows = self._cursor.execute(_SQL["fires_of_jobs"], params, binary=True).fetchall()
            for run_id, job_id, _, origin in [*rows, *open_rows(self._cursor, fires)]:
                if origin == BY_SCHEDULE:
                    fires[job_id].add(fire_of(run_id))
        jobs = self.jobs(job_ids)
        return {job_id: SeenUpstream(job, frozenset(fires[job_id])) for job_id, job in jobs.items()}
