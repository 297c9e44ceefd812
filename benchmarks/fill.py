"""Tables at rest: millions of jobs with a finished run each, spread over the ledger's days.

Rows go in first and indexes are built after, which takes a third of the time and leaves the same
tables behind.
"""

from typing import Any

import psycopg
from psycopg import sql

Conn = psycopg.Connection[tuple[Any, ...]]

_JOB_ID = "('01000000' || lpad(to_hex(n), 8, '0') || '70008000' || lpad(to_hex(n), 8, '0'))::uuid"
_WITHOUT_KEYS = """
    ALTER TABLE job_dependencies DROP CONSTRAINT job_dependencies_job_id_fkey,
                                 DROP CONSTRAINT job_dependencies_upstream_id_fkey;
    ALTER TABLE jobs DROP CONSTRAINT jobs_pkey;
"""
_WITH_KEYS = """
    ALTER TABLE jobs ADD PRIMARY KEY (job_id);
    ALTER TABLE job_dependencies ADD FOREIGN KEY (job_id) REFERENCES jobs ON DELETE CASCADE,
                                 ADD FOREIGN KEY (upstream_id) REFERENCES jobs;
"""
_JOBS = f"""
    INSERT INTO jobs (job_id, tenant, name, schedule_type, schedule_time, payload, target, repeats,
                      has_upstreams)
    SELECT {_JOB_ID}, 'default', 'job ' || n, 'FUTURE', now(), to_jsonb(n),
           '{{"type": "python", "handler": "builtin.noop"}}', false, false
    FROM generate_series(1, %(rows)s::int) AS n
"""
_DAYS = """
    SELECT c.oid::regclass::text, pg_get_expr(c.relpartbound, c.oid),
           extract(epoch FROM to_date(right(c.relname, 8), 'YYYYMMDD'))::bigint
    FROM pg_inherits AS i JOIN pg_class AS c ON c.oid = i.inhrelid
    WHERE i.inhparent = 'job_runs'::regclass ORDER BY c.relname
"""
# 48 bits of the fire's milliseconds, version and variant, and the job's number for the rest.
_RUNS = f"""
    INSERT INTO {{day}} (run_id, job_id, tenant, pool, priority, status, fence, start_time,
                       end_time, executor_id)
    SELECT (lpad(to_hex(%(start)s::bigint * 1000
                        + (n - %(first)s::bigint) * 86400000 / (%(count)s::bigint + 1)), 12, '0')
            || '80008000' || lpad(to_hex(n), 12, '0'))::uuid,
           {_JOB_ID}, 'default', 'default', 5, 10, 1, now(), now(), 'bench'
    FROM generate_series(%(first)s::bigint, %(first)s::bigint + %(count)s::bigint - 1) AS n
"""
_INDEXES = """
    ALTER TABLE {day} ADD PRIMARY KEY (run_id);
    CREATE INDEX ON {day} (job_id, run_id);
    CREATE INDEX ON {day} (wake_at) WHERE wake_at IS NOT NULL;
"""


def fill_ledger(url: str, rows: int) -> None:
    with psycopg.connect(url, autocommit=True) as conn:
        conn.execute("SET maintenance_work_mem = '1GB'")
        conn.execute("SET synchronous_commit = off")
        conn.execute(_WITHOUT_KEYS)
        conn.execute(_JOBS, {"rows": rows})
        conn.execute(_WITH_KEYS)
        days = conn.execute(_DAYS).fetchall()
        for n, (day, bounds, start) in enumerate(days):
            first, last = rows * n // len(days) + 1, rows * (n + 1) // len(days)
            _fill_day(conn, (day, bounds, start), first, last - first + 1)
        conn.execute("VACUUM (ANALYZE) jobs, job_runs")
        conn.execute("CHECKPOINT")


def _fill_day(conn: Conn, day: tuple[str, str, int], first: int, count: int) -> None:
    name, bounds, start = day
    table = sql.Identifier(name)
    conn.execute(sql.SQL("ALTER TABLE job_runs DETACH PARTITION {}").format(table))
    for (index,) in conn.execute(
        "SELECT conname FROM pg_constraint WHERE conrelid = %s::regclass AND contype = 'p'", [name]
    ).fetchall():
        drop = sql.SQL("ALTER TABLE {} DROP CONSTRAINT {}")
        conn.execute(drop.format(table, sql.Identifier(index)))
    for (index,) in conn.execute(
        "SELECT indexrelid::regclass::text FROM pg_index WHERE indrelid = %s::regclass", [name]
    ).fetchall():
        conn.execute(sql.SQL("DROP INDEX {}").format(sql.Identifier(index)))
    params = {"start": start, "first": first, "count": count}
    conn.execute(sql.SQL(_RUNS).format(day=table), params)
    conn.execute(sql.SQL(_INDEXES).format(day=table))
    attach = sql.SQL("ALTER TABLE job_runs ATTACH PARTITION {} ").format(table)
    conn.execute(attach + sql.SQL(bounds))
