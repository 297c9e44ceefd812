"""The floor: the same work on bare tables with bare statements, no fences, states or checks.

A job is a key and a body, a run is a key, a job and a number. Whatever the ledger costs beyond this
is the price of what it promises.
"""

from typing import Any
from uuid import UUID

import psycopg

from lamplighter.adapters.postgres import arrays
from lamplighter.adapters.postgres.arrays import jsons, uuids

_TABLES = """
    CREATE TABLE IF NOT EXISTS bare_jobs (job_id uuid PRIMARY KEY, body jsonb NOT NULL);
    CREATE TABLE IF NOT EXISTS bare_runs (
        run_id uuid PRIMARY KEY, job_id uuid NOT NULL, status smallint NOT NULL,
        worker text, at timestamptz) WITH (fillfactor = 35);
"""
_SUBMIT = """
    WITH new_jobs AS (INSERT INTO bare_jobs SELECT * FROM unnest(%(job_ids)s, %(bodies)s))
    INSERT INTO bare_runs (run_id, job_id, status)
    SELECT run_id, job_id, 1 FROM unnest(%(run_ids)s, %(job_ids)s) AS given (run_id, job_id)
"""
_PAGE = """
    SELECT run_id, status FROM bare_runs WHERE run_id > %(after)s AND status = 1
    ORDER BY run_id LIMIT %(limit)s
"""
_CLAIM = """
    UPDATE bare_runs AS r SET status = 4, worker = %(worker)s, at = now()
    FROM unnest(%(run_ids)s) AS given (run_id), bare_jobs AS j
    WHERE r.run_id = given.run_id AND j.job_id = r.job_id AND r.status = 1
    RETURNING r.run_id, j.body
"""
_FINISH = """
    UPDATE bare_runs AS r SET status = 10, at = now() FROM unnest(%(run_ids)s) AS given (run_id)
    WHERE r.run_id = given.run_id AND r.status = 4 RETURNING r.run_id
"""

_FILL_JOBS = """
    INSERT INTO bare_jobs SELECT ('01000000' || lpad(to_hex(n), 24, '0'))::uuid, '{"n": 1}'
    FROM generate_series(1, %(rows)s::int) AS n
"""
_FILL_RUNS = """
    INSERT INTO bare_runs (run_id, job_id, status)
    SELECT ('00f00000' || lpad(to_hex(n), 24, '0'))::uuid,
           ('01000000' || lpad(to_hex(n), 24, '0'))::uuid, 10
    FROM generate_series(1, %(rows)s::int) AS n
"""


class BareLedger:
    def __init__(self, url: str) -> None:
        self._conn = psycopg.connect(url, autocommit=True)
        arrays.register(self._conn)
        self._conn.execute(_TABLES)

    def _run(self, query: str, params: dict[str, Any]) -> list[Any]:
        with self._conn.cursor(binary=True) as cursor:
            cursor.execute(query, params)
            return cursor.fetchall() if cursor.description else []

    def submit(self, jobs: list[tuple[UUID, UUID, dict[str, Any]]]) -> None:
        self._run(
            _SUBMIT,
            {
                "job_ids": uuids(job_id for job_id, _, _ in jobs),
                "run_ids": uuids(run_id for _, run_id, _ in jobs),
                "bodies": jsons([body for _, _, body in jobs]),
            },
        )

    def page(self, after: UUID, limit: int) -> list[UUID]:
        return [row[0] for row in self._run(_PAGE, {"after": after, "limit": limit})]

    def claim(self, run_ids: list[UUID]) -> list[UUID]:
        rows = self._run(_CLAIM, {"run_ids": uuids(run_ids), "worker": "bench"})
        return [row[0] for row in rows]

    def finish(self, run_ids: list[UUID]) -> int:
        return len(self._run(_FINISH, {"run_ids": uuids(run_ids)}))

    def close(self) -> None:
        self._conn.close()


def fill_bare(url: str, rows: int) -> None:
    """As many finished rows as the ledger was filled with, indexes after rows as there."""
    with psycopg.connect(url, autocommit=True) as conn:
        conn.execute("SET maintenance_work_mem = '1GB'")
        conn.execute("SET synchronous_commit = off")
        conn.execute("ALTER TABLE bare_jobs DROP CONSTRAINT bare_jobs_pkey")
        conn.execute("ALTER TABLE bare_runs DROP CONSTRAINT bare_runs_pkey")
        conn.execute(_FILL_JOBS, {"rows": rows})
        conn.execute(_FILL_RUNS, {"rows": rows})
        conn.execute("ALTER TABLE bare_jobs ADD PRIMARY KEY (job_id)")
        conn.execute("ALTER TABLE bare_runs ADD PRIMARY KEY (run_id)")
        conn.execute("VACUUM (ANALYZE) bare_jobs, bare_runs")
        conn.execute("CHECKPOINT")
