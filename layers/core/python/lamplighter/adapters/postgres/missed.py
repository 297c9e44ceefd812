"""Fires that will not run: consecutive ones in one row, which has ended when it is written."""

from collections.abc import Sequence

from psycopg import Cursor

from lamplighter.adapters.postgres.arrays import instants, ints, texts, uuids
from lamplighter.adapters.postgres.database import Row
from lamplighter.adapters.postgres.queries import queries
from lamplighter.domain.job import Job
from lamplighter.domain.run import new_runs
from lamplighter.ports.ledger import Missed

_SQL = queries("horizon")


def insert_missed(cursor: Cursor[Row], missed: Sequence[tuple[Job, Missed]]) -> None:
    rows = [(run, gap) for job, gap in missed for run in new_runs(job, gap.first)]
    if not rows:
        return
    cursor.execute(
        _SQL["insert_missed"],
        {
            "run_ids": uuids(run.run_id for run, _ in rows),
            "job_ids": uuids(run.job.job_id for run, _ in rows),
            "tenants": texts(run.job.tenant for run, _ in rows),
            "pools": texts(run.pool for run, _ in rows),
            "priorities": ints(run.job.priority for run, _ in rows),
            "delays": ints(run.delay_ms for run, _ in rows),
            "reasons": ints(gap.reason for _, gap in rows),
            "missed_tos": instants(gap.last for _, gap in rows),
            "missed_counts": ints(gap.count for _, gap in rows),
        },
    )
