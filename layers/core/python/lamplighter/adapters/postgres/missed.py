"""Fires that will not run: consecutive ones in one row, which has ended when it is written."""

from collections.abc import Sequence

from psycopg import Cursor

from lamplighter.adapters.postgres.arrays import instants, ints, texts, uuids
from lamplighter.adapters.postgres.database import Row
from lamplighter.adapters.postgres.queries import queries
from lamplighter.domain.ids import run_id
from lamplighter.domain.job import Job
from lamplighter.ports.ledger import Missed

_SQL = queries("horizon")


def insert_missed(cursor: Cursor[Row], missed: Sequence[tuple[Job, Missed]]) -> None:
    rows = [(job, pool, gap) for job, gap in missed for pool in job.pools]
    if not rows:
        return
    cursor.execute(
        _SQL["insert_missed"],
        {
            "run_ids": uuids(run_id(job.job_id, gap.first, pool) for job, pool, gap in rows),
            "job_ids": uuids(job.job_id for job, _, _ in rows),
            "tenants": texts(job.tenant for job, _, _ in rows),
            "pools": texts(pool for _, pool, _ in rows),
            "priorities": ints(job.priority for job, _, _ in rows),
            "reasons": ints(gap.reason for _, _, gap in rows),
            "missed_tos": instants(gap.last for _, _, gap in rows),
            "missed_counts": ints(gap.count for _, _, gap in rows),
        },
    )
