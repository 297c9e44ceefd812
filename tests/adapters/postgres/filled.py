"""A ledger with enough in it that a bad plan would be chosen if there were one."""

from datetime import datetime, timedelta
from typing import Any

import psycopg

from lamplighter.adapters.postgres.ledger import PostgresLedger
from tests.adapters.postgres.making import DAY, HOUR, utc_now

JOBS = 20_000
RUNS_A_DAY = 10_000
DAYS_BACK, DAYS_AHEAD = 4, 2

# A day's runs, spread over it evenly; those before now have succeeded.
_RUNS = """
INSERT INTO job_runs (run_id, job_id, tenant, pool, status, priority, fence, executor_id,
                      start_time, end_time)
SELECT (lpad(to_hex((extract(epoch FROM at) * 1000)::bigint), 12, '0') || '8'
        || substr(hash, 1, 3) || '8' || substr(hash, 5, 15))::uuid,
       job_id, 'filler', 'default', CASE WHEN over THEN 10 ELSE 1 END, 5, over::int,
       CASE WHEN over THEN 'worker' END, CASE WHEN over THEN at END, CASE WHEN over THEN at END
FROM (SELECT at, md5(n::text || at::text) AS hash, at < now() AS over,
             md5(((n * 7919) %% %(jobs)s)::text)::uuid AS job_id
      FROM generate_series(1, %(runs)s) AS n
      CROSS JOIN LATERAL (SELECT %(day)s + n * interval '1 day' / (%(runs)s + 1) AS at) AS a) AS g
"""
_JOBS = """
INSERT INTO jobs (job_id, tenant, name, schedule_type, cron_expression, repeats, has_upstreams)
SELECT md5(n::text)::uuid, 'filler', 'filler', 'CRON', '0 * * * *', true, false
FROM generate_series(0, %(jobs)s - 1) AS n
"""
_REST = """
INSERT INTO schedules (job_id, tenant, next_fire_at, version)
SELECT job_id, tenant, now() + random() * interval '9 days' + interval '1 day', 1 FROM jobs;
INSERT INTO job_dependencies (job_id, upstream_id, tenant, position, rule)
SELECT md5(n::text)::uuid, md5((n + 1)::text)::uuid, 'filler', 0, 'same_fire'
FROM generate_series(0, 9000, 2) AS n;
INSERT INTO workers (worker_id, pool, capacity)
SELECT 'worker-' || n, 'default', 10 FROM generate_series(1, 2000) AS n;
INSERT INTO claims (claim_id, worker_id, run_ids)
SELECT gen_random_uuid(), 'worker-' || n % 2000, ARRAY[run_id]
FROM (SELECT run_id, row_number() OVER () AS n FROM job_runs WHERE status = 10 LIMIT 5000) AS r;
INSERT INTO slots (key, n, run_id)
SELECT 'limit:filler:key:' || r.n, s.n, CASE WHEN s.n = 1 THEN run_id END
FROM (SELECT run_id, row_number() OVER () AS n FROM job_runs WHERE status = 1 LIMIT 5000) AS r
CROSS JOIN generate_series(0, 1) AS s (n);
INSERT INTO slot_queue (key, fire_at, run_id, max_slots)
SELECT 'limit:filler:key:' || n, now(), run_id, 1
FROM (SELECT run_id, row_number() OVER (ORDER BY run_id DESC) AS n FROM job_runs
      WHERE status = 1 ORDER BY run_id DESC LIMIT 5000) AS r;
INSERT INTO run_attempts (run_id, fence, tenant, attempt_number, verdict, ended_at)
SELECT run_id, 1, tenant, 1, 'failed', now() FROM job_runs WHERE status = 10 LIMIT 5000;
INSERT INTO job_versions (job_id, version, tenant, valid_from, valid_to, job)
SELECT job_id, 1, tenant, now(), now(), '{}' FROM jobs;
INSERT INTO cancellations (run_id, worker_id)
SELECT gen_random_uuid(), 'worker-' || n FROM generate_series(1, 2000) AS n;
INSERT INTO calendars (tenant, name, version, calendar)
SELECT 'filler-' || n, 'holidays', 1, '{}' FROM generate_series(1, 2000) AS n;
INSERT INTO idempotency_keys (tenant, route, key, fingerprint)
SELECT 'filler', 'PUT /jobs/' || n, n, '' FROM generate_series(1, 5000) AS n;
INSERT INTO api_keys (key_id, tenant, name, role, hash)
SELECT gen_random_uuid(), 'filler', 'a key', 'reader', sha256(n::text::bytea)
FROM generate_series(1, 5000) AS n;
INSERT INTO audit_log (tenant, actor, action, subject, at)
SELECT 'default', 'worker-' || n, 'worker.stopped', 'default', now() - n * interval '1 min'
FROM generate_series(1, 5000) AS n;
INSERT INTO stats_minute
SELECT now() - n * interval '1 min', 'filler', 'default', 1, 10, 1, 1, 1, 1
FROM generate_series(1, 5000) AS n;
UPDATE job_runs SET wake_at = now() + interval '1 hour' WHERE status = 1 AND random() < 0.05;
VACUUM ANALYZE;
"""


def first_day() -> datetime:
    return utc_now().replace(hour=0, minute=0, second=0, microsecond=0) - DAYS_BACK * DAY


def fill(url: str) -> None:
    ledger = PostgresLedger(url)
    ledger.ensure_partitions(first_day(), utc_now() + DAYS_AHEAD * DAY)
    ledger.close()
    with psycopg.connect(url, autocommit=True) as conn:
        given: dict[str, Any] = {"jobs": JOBS, "runs": RUNS_A_DAY}
        conn.execute(_JOBS, given)
        for n in range(DAYS_BACK + 1 + DAYS_AHEAD):
            conn.execute(_RUNS.encode(), given | {"day": first_day() + timedelta(days=n)})
        for statement in _REST.split(";\n"):
            conn.execute(statement.encode())


def noon(days: int) -> datetime:
    """Of a day before (negative) or after today."""
    return first_day() + (DAYS_BACK + days) * DAY + 12 * HOUR
