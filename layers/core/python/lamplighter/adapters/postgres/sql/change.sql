-- name: lock_job
SELECT {job_columns} FROM jobs AS j
WHERE j.tenant = %(tenant)s AND j.job_id = %(job_id)s FOR UPDATE OF j;

-- name: archive_job
-- Keep what the job was until now, before it is changed.
INSERT INTO job_versions (job_id, version, tenant, valid_from, valid_to, job)
SELECT job_id, version, tenant, updated_at, clock_timestamp(), %(job)s
FROM jobs WHERE job_id = %(job_id)s;

-- name: set_status
UPDATE jobs SET status = %(status)s, version = version + 1, updated_at = clock_timestamp()
WHERE job_id = %(job_id)s;

-- name: follow_version
-- The schedule's row names the version it was computed from: planning checks that it still holds.
UPDATE schedules SET version = %(version)s WHERE job_id = %(job_id)s;

-- name: replace_job
UPDATE jobs AS j
SET name = given.name, schedule_type = given.schedule_type, schedule_time = given.schedule_time,
    cron_expression = given.cron_expression, timing = given.timing, payload = given.payload,
    target = given.target, max_retries = given.max_retries, priority = given.priority,
    pool = given.pool, timeout_seconds = given.timeout_seconds,
    start_deadline_seconds = given.start_deadline_seconds, expires_at = given.expires_at,
    overlap = given.overlap, ordering_key = given.ordering_key,
    concurrency_key = given.concurrency_key, max_concurrency = given.max_concurrency,
    repeats = given.repeats, has_upstreams = given.has_upstreams,
    tags = CASE WHEN given.tags IS NOT NULL THEN string_to_array(given.tags, E'\x1f') END,
    policy = given.policy, version = j.version + 1, updated_at = clock_timestamp()
FROM unnest(%(job_ids)s, %(tenants)s, %(names)s, %(schedule_types)s, %(schedule_times)s,
            %(cron_expressions)s, %(timings)s, %(payloads)s, %(targets)s, %(max_retries)s,
            %(priorities)s, %(pools)s, %(timeouts)s, %(start_deadlines)s, %(expiries)s,
            %(overlaps)s, %(ordering_keys)s, %(concurrency_keys)s, %(max_concurrencies)s,
            %(repeats)s, %(have_upstreams)s, %(tags)s, %(policies)s)
     AS given (job_id, tenant, name, schedule_type, schedule_time, cron_expression, timing,
               payload, target, max_retries, priority, pool, timeout_seconds,
               start_deadline_seconds, expires_at, overlap, ordering_key, concurrency_key,
               max_concurrency, repeats, has_upstreams, tags, policy)
WHERE j.job_id = given.job_id;

-- name: hold_schedule
-- Where a schedule stands. Locked: the planner may be about to move it.
SELECT next_fire_at FROM schedules WHERE job_id = %(job_id)s FOR UPDATE;

-- name: delete_schedule
DELETE FROM schedules WHERE job_id = %(job_id)s;

-- name: insert_schedule
INSERT INTO schedules (job_id, tenant, next_fire_at, version)
VALUES (%(job_id)s, %(tenant)s, %(next_fire_at)s, %(version)s)
ON CONFLICT (job_id) DO UPDATE
SET next_fire_at = excluded.next_fire_at, version = excluded.version;

-- name: settled_below
-- Below this fire nothing goes to plan any more. An hour at least, so that few of the runs that are
-- with workers or in line have to be asked for whose they are.
SELECT least(watermark, clock_timestamp() - interval '1 h') FROM ledger_bounds;

-- name: open_runs
-- Every run of these jobs that has not ended, with what its keys are made from. Below `since` it has
-- a wake-up call, or a worker has it, or it stands in line (docs/decisions/open-runs.md): a job that
-- fires each second has millions there that have ended, and no index knows which.
SELECT run_id, job_id, pool, origin FROM job_runs
WHERE job_id = ANY(%(job_ids)s) AND run_id >= %(since)s AND status < 10
UNION ALL
SELECT run_id, job_id, pool, origin FROM job_runs
WHERE job_id = ANY(%(job_ids)s) AND run_id < %(since)s AND wake_at IS NOT NULL
UNION ALL
SELECT run_id, job_id, pool, origin FROM job_runs
WHERE CASE WHEN job_id = ANY(%(job_ids)s) AND wake_at IS NULL AND status < 10 THEN true
      ELSE false END  -- by the primary key, not for each job and each run
  AND run_id < %(since)s AND run_id = ANY(ARRAY(
      SELECT held.run_id FROM claims AS c CROSS JOIN unnest(c.run_ids) AS held (run_id)
      WHERE held.run_id < %(since)s
      UNION ALL
      SELECT q.run_id FROM slot_queue AS q WHERE q.run_id < %(since)s));

-- name: awaited_runs
-- Runs ahead of a job that a blocked run of another one waits for: the same fire, or whichever.
-- What waits is read once: each run ahead compared with each that waits would take seconds.
WITH waiting AS MATERIALIZED (
    SELECT d.rule, fire_of(r.run_id) AS fire
    FROM job_dependencies AS d JOIN job_runs AS r ON r.job_id = d.job_id
    WHERE d.upstream_id = %(job_id)s AND r.status = 2 AND r.run_id >= %(open_since)s
      AND r.wake_at IS NOT NULL  -- as every blocked run has: the small index finds them
)
SELECT up.run_id
FROM job_runs AS up JOIN jobs AS j ON j.job_id = up.job_id
WHERE up.job_id = %(job_id)s AND up.run_id >= %(since)s AND up.status < 10
  AND (fire_of(up.run_id) IN (SELECT fire FROM waiting)
       OR EXISTS (SELECT FROM waiting WHERE rule <> 'same_fire')
       OR (NOT j.repeats AND EXISTS (SELECT FROM waiting)));

-- name: delete_runs
-- Runs that will not be: their fires lie ahead, and the schedule no longer has them.
DELETE FROM job_runs
WHERE run_id = ANY(%(run_ids)s) AND run_id BETWEEN %(first)s AND %(last)s;

-- name: ready_days
SELECT ready_from, ready_to FROM ledger_bounds;
