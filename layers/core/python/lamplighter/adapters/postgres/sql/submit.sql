-- name: insert_jobs
-- Write a batch of jobs, and the first run of each where its day has a partition; a fire beyond
-- those stays in `schedules` until planning reaches it. A job that is known already is left alone,
-- and so are its runs. The insert itself wakes a run that is born late: the load cursor may have
-- passed it by the time this commits.
WITH new_jobs AS (
    INSERT INTO jobs (job_id, tenant, name, schedule_type, schedule_time, cron_expression, timing,
                      payload, target, max_retries, priority, pool, timeout_seconds,
                      start_deadline_seconds, expires_at, overlap, ordering_key, concurrency_key,
                      max_concurrency, repeats, has_upstreams, tags, policy, fingerprint)
    SELECT job_id, tenant, name, schedule_type, schedule_time, cron_expression, timing,
           payload, target, max_retries, priority, pool, timeout_seconds,
           start_deadline_seconds, expires_at, overlap, ordering_key, concurrency_key,
           max_concurrency, repeats, has_upstreams,
           CASE WHEN tags IS NOT NULL THEN string_to_array(tags, E'\x1f') END,
           policy, fingerprint
    FROM unnest(%(job_ids)s, %(tenants)s, %(names)s, %(schedule_types)s, %(schedule_times)s,
                %(cron_expressions)s, %(timings)s, %(payloads)s, %(targets)s, %(max_retries)s,
                %(priorities)s, %(pools)s, %(timeouts)s, %(start_deadlines)s, %(expiries)s,
                %(overlaps)s, %(ordering_keys)s, %(concurrency_keys)s, %(max_concurrencies)s,
                %(repeats)s, %(have_upstreams)s, %(tags)s, %(policies)s, %(fingerprints)s)
         AS given (job_id, tenant, name, schedule_type, schedule_time, cron_expression, timing,
                   payload, target, max_retries, priority, pool, timeout_seconds,
                   start_deadline_seconds, expires_at, overlap, ordering_key, concurrency_key,
                   max_concurrency, repeats, has_upstreams, tags, policy, fingerprint)
    ON CONFLICT (job_id) DO NOTHING
    RETURNING job_id
), given_runs AS (
    SELECT *
    FROM unnest(%(run_ids)s, %(run_job_ids)s, %(run_tenants)s, %(run_pools)s, %(run_priorities)s,
                %(run_states)s, %(run_slotted)s, %(run_delays)s, %(run_fires)s)
         AS given (run_id, job_id, tenant, pool, priority, status, slotted, delay_ms, fire_at)
    WHERE fire_at >= (SELECT ready_from FROM ledger_bounds)
      AND fire_at < (SELECT ready_to FROM ledger_bounds)
), new_runs AS (
    INSERT INTO job_runs (run_id, job_id, tenant, pool, priority, status, slotted, delay_ms, wake_at)
    SELECT run_id, job_id, tenant, pool, priority, status, slotted, delay_ms,
           CASE WHEN status = 1 AND fire_at < clock_timestamp() - interval '2 s'
                THEN clock_timestamp() END
    FROM given_runs
    WHERE job_id IN (SELECT job_id FROM new_jobs)
), new_schedules AS (
    INSERT INTO schedules (job_id, tenant, next_fire_at, version)
    SELECT job_id, tenant, next_fire_at, 1
    FROM (
        SELECT job_id, tenant,
               CASE WHEN first_fire < (SELECT ready_to FROM ledger_bounds)
                    THEN next_fire ELSE first_fire END AS next_fire_at
        FROM unnest(%(schedule_job_ids)s, %(schedule_tenants)s, %(first_fires)s, %(next_fires)s)
             AS given (job_id, tenant, first_fire, next_fire)
    ) AS given
    WHERE next_fire_at IS NOT NULL AND job_id IN (SELECT job_id FROM new_jobs)
)
SELECT (SELECT array_agg(job_id) FROM new_jobs), ready_to FROM ledger_bounds;

-- name: fingerprints
SELECT job_id, tenant, fingerprint FROM jobs WHERE job_id = ANY(%(job_ids)s);

-- name: still_due
SELECT run_id, tenant, pool, priority, delay_ms, fence FROM job_runs
WHERE run_id = ANY(%(run_ids)s) AND run_id BETWEEN %(first)s AND %(last)s AND status = 1
ORDER BY run_id;
