"""Tables at rest: millions of jobs with a finished run each, or with one that waits for its time.

Finished ones are spread over the ledger's days. Rows go in first and indexes are built after, which
takes a third of the time and leaves the same tables behind; but not while a stack uses them.
"""

from datetime import datetime
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


_WAITING_ID = (
    "('02000000' || lpad(to_hex(n), 8, '0') || '70008000' || lpad(to_hex(n), 8, '0'))::uuid"
)
_FIRE_MS = """
    (%(first_ms)s::bigint + (n - %(start)s::bigint) * %(span_ms)s::bigint / %(rows)s::bigint)
"""
_NUMBERS = "generate_series(%(start)s::bigint, %(start)s::bigint + %(rows)s::bigint - 1) AS n"
_ONE_OFFS = f"""
    INSERT INTO jobs (job_id, tenant, name, schedule_type, schedule_time, target, repeats,
                      has_upstreams)
    SELECT {_WAITING_ID}, 'default', 'waits ' || n, 'FUTURE',
           timestamptz 'epoch' + {_FIRE_MS} * interval '1 ms',
           '{{"type": "python", "handler": "builtin.noop"}}', false, false
    FROM {_NUMBERS} WHERE n % 10 <> 0 OR NOT %(with_crons)s
"""
_THEIR_RUNS = f"""
    INSERT INTO job_runs (run_id, job_id, tenant, pool, priority)
    SELECT (lpad(to_hex({_FIRE_MS}), 12, '0') || '80008000' || lpad(to_hex(n), 12, '0'))::uuid,
           {_WAITING_ID}, 'default', 'default', 5
    FROM {_NUMBERS} WHERE n % 10 <> 0 OR NOT %(with_crons)s
"""
_CRONS = f"""
    INSERT INTO jobs (job_id, tenant, name, schedule_type, cron_expression, target, overlap,
                      repeats, has_upstreams)
    SELECT {_WAITING_ID}, 'default', 'daily ' || n, 'CRON', '0 3 * * *',
           '{{"type": "python", "handler": "builtin.noop"}}', 'forbid', true, false
    FROM {_NUMBERS} WHERE n % 10 = 0 AND %(with_crons)s
"""
_SCHEDULES = f"""
    INSERT INTO schedules (job_id, tenant, next_fire_at, version)
    SELECT {_WAITING_ID}, 'default', date_trunc('day', now()) + interval '1 day 3 hours', 1
    FROM {_NUMBERS} WHERE n % 10 = 0 AND %(with_crons)s
"""


def fill_waiting(
    url: str, rows: int, between: tuple[datetime, datetime], *, start: int = 1, crons: bool = True
) -> None:
    """Jobs numbered from `start` that fire once between these; one in ten is a daily cron instead.

    May be done beside a running stack, as long as it has not loaded so far ahead.
    """
    first, last = between
    params = {
        "start": start,
        "rows": rows,
        "first_ms": int(1000 * first.timestamp()),
        "span_ms": int(1000 * (last - first).total_seconds()),
        "with_crons": crons,
    }
    with psycopg.connect(url, autocommit=True) as conn:
        conn.execute("SET synchronous_commit = off")
        for statement in (_ONE_OFFS, _THEIR_RUNS, _CRONS, _SCHEDULES):
            conn.execute(statement.replace("n % 10", "n %% 10"), params)
        conn.execute("VACUUM (ANALYZE) jobs, job_runs, schedules")
        conn.execute("CHECKPOINT")
