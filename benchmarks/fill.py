"""Tables at rest: millions of jobs with a finished run each, spread over the ledger's days."""

import psycopg

_JOBS = """
    INSERT INTO jobs (job_id, tenant, name, schedule_type, schedule_time, payload, target, repeats,
                      has_upstreams)
    SELECT ('01000000' || lpad(to_hex(n), 8, '0') || '70008000' || lpad(to_hex(n), 8, '0'))::uuid,
           'default', 'job ' || n, 'FUTURE', now(), to_jsonb(n),
           '{"type": "python", "handler": "builtin.noop"}', false, false
    FROM generate_series(%(first)s::int, %(last)s::int) AS n
"""
# 48 bits of the fire's milliseconds, version and variant, and the job's number for the rest.
_RUNS = """
    INSERT INTO job_runs (run_id, job_id, tenant, pool, priority, status, fence, start_time,
                          end_time, executor_id)
    SELECT (lpad(to_hex((extract(epoch FROM ready_from) * 1000)::bigint
                        + (n::numeric * span / %(rows)s::int)::bigint), 12, '0')
            || '8000' || '8000' || lpad(to_hex(n), 12, '0'))::uuid,
           ('01000000' || lpad(to_hex(n), 8, '0') || '70008000' || lpad(to_hex(n), 8, '0'))::uuid,
           'default', 'default', 5, 10, 1, now(), now(), 'bench'
    FROM generate_series(%(first)s::int, %(last)s::int) AS n,
         (SELECT ready_from, (extract(epoch FROM ready_to - ready_from) * 1000)::bigint AS span
          FROM ledger_bounds) AS days
"""
_AT_ONCE = 500_000


def fill_ledger(url: str, rows: int) -> None:
    with psycopg.connect(url, autocommit=True) as conn:
        for first in range(1, rows + 1, _AT_ONCE):
            last = min(first + _AT_ONCE, rows + 1) - 1
            conn.execute(_JOBS, {"first": first, "last": last})
            conn.execute(_RUNS, {"first": first, "last": last, "rows": rows + 1})
        conn.execute("VACUUM (ANALYZE) jobs")
        conn.execute("VACUUM (ANALYZE) job_runs")
        conn.execute("CHECKPOINT")
