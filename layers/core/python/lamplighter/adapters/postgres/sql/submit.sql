-- name: insert_jobs
-- Write a batch of jobs, and the first run of each where its day has a partition; a fire beyond
-- those stays in `schedules` until planning reaches it. A job that is known already is left alone,
-- and so are its runs. The insert itself wakes a run that is born late: the load cursor may have
-- passed it by the time this commits.
-- Arrays are unnested in the select list, which streams them; in FROM they would be stored first.
WITH new_jobs AS (
    INSERT INTO jobs (job_id, tenant, name, schedule_type, schedule_time, cron_expression, timing,
                      payload, target, max_retries, priority, pool, timeout_seconds,
                      start_deadline_seconds, expires_at, overlap, ordering_key, concurrency_key,
                      max_concurrency, repeats, has_upstreams, tags, policy, fingerprint)
    SELECT job_id, tenant, name, schedule_type, schedule_time, cron_expression, timing,
           payload, target, max_retries, priority, pool, timeout_seconds,
           start_deadline_seconds, expires_at, overlap, ordering_key, concurrency_key,
           max_concurrency, repeats OR schedule_type IN ('CRON', 'INTERVAL'), has_upstreams,
           CASE WHEN tags IS NOT NULL THEN string_to_array(tags, E'\x1f') END,
           policy, fingerprint
    FROM (SELECT unnest(%(job_ids)s) AS job_id, unnest(%(tenants)s) AS tenant,
                 unnest(%(names)s) AS name, unnest(%(schedule_types)s) AS schedule_type,
                 unnest(%(schedule_times)s) AS schedule_time,
                 unnest(%(cron_expressions)s) AS cron_expression, unnest(%(timings)s) AS timing,
                 unnest(%(payloads)s) AS payload, unnest(%(targets)s) AS target,
                 unnest(%(max_retries)s) AS max_retries, unnest(%(priorities)s) AS priority,
                 unnest(%(pools)s) AS pool, unnest(%(timeouts)s) AS timeout_seconds,
                 unnest(%(start_deadlines)s) AS start_deadline_seconds,
                 unnest(%(expiries)s) AS expires_at, unnest(%(overlaps)s) AS overlap,
                 unnest(%(ordering_keys)s) AS ordering_key,
                 unnest(%(concurrency_keys)s) AS concurrency_key,
                 unnest(%(max_concurrencies)s) AS max_concurrency, unnest(%(repeats)s) AS repeats,
                 unnest(%(have_upstreams)s) AS has_upstreams, unnest(%(tags)s) AS tags,
                 unnest(%(policies)s) AS policy, unnest(%(fingerprints)s) AS fingerprint) AS given
    ON CONFLICT (job_id) DO NOTHING
    RETURNING job_id
), given_runs AS (
    SELECT *, fire_at >= (SELECT ready_from FROM ledger_bounds)
              AND fire_at < (SELECT ready_to FROM ledger_bounds) AS has_day
    FROM (SELECT unnest(%(run_ids)s) AS run_id, unnest(%(run_job_ids)s) AS job_id,
                 unnest(%(run_tenants)s) AS tenant, unnest(%(run_pools)s) AS pool,
                 unnest(%(run_priorities)s) AS priority, unnest(%(run_states)s) AS status,
                 unnest(%(run_slotted)s) AS slotted, unnest(%(run_delays)s) AS delay_ms,
                 unnest(%(run_fires)s) AS fire_at, unnest(%(run_patience)s) AS patience) AS given
), new_runs AS (
    INSERT INTO job_runs (run_id, job_id, tenant, pool, priority, status, slotted, delay_ms, wake_at)
    SELECT run_id, job_id, tenant, pool, priority, status, slotted, delay_ms,
           CASE WHEN status = 2 THEN greatest(fire_at, clock_timestamp()) + patience * interval '1 s'
            WHEN fire_at < clock_timestamp() - interval '2 s' THEN clock_timestamp() END
    FROM given_runs
    WHERE has_day AND job_id IN (SELECT job_id FROM new_jobs)
), new_schedules AS (
    INSERT INTO schedules (job_id, tenant, next_fire_at, version)
    SELECT job_id, tenant, next_fire_at, 1
    FROM (
        SELECT DISTINCT job_id, tenant, fire_at AS next_fire_at  -- one-offs; each pool has a run
        FROM given_runs
        WHERE NOT has_day AND job_id <> ALL(%(schedule_job_ids)s)
        UNION ALL
        SELECT job_id, tenant,
               CASE WHEN first_fire >= (SELECT ready_from FROM ledger_bounds)
                     AND first_fire < (SELECT ready_to FROM ledger_bounds)
                    THEN next_fire ELSE first_fire END AS next_fire_at
        FROM (SELECT unnest(%(schedule_job_ids)s) AS job_id,
                     unnest(%(schedule_tenants)s) AS tenant,
                     unnest(%(first_fires)s) AS first_fire, unnest(%(next_fires)s) AS next_fire) AS given
    ) AS given
    WHERE job_id IN (SELECT job_id FROM new_jobs)
)
SELECT (SELECT array_agg(job_id) FROM new_jobs), ready_from, ready_to FROM ledger_bounds;

-- name: fingerprints
SELECT job_id, tenant, fingerprint FROM jobs WHERE job_id = ANY(%(job_ids)s);

-- name: waiting_runs
-- Runs of these jobs between two keys that wait for their time.
SELECT run_id, tenant, pool, priority, delay_ms, fence FROM job_runs
WHERE job_id = ANY(%(job_ids)s) AND run_id BETWEEN %(first)s AND %(last)s
  AND status = 1 AND wake_at IS NULL;

-- name: reject_jobs
UPDATE jobs SET status = 4 WHERE job_id = ANY(%(job_ids)s);

-- name: still_due
SELECT run_id, tenant, pool, priority, delay_ms, fence FROM job_runs
WHERE run_id = ANY(%(run_ids)s) AND run_id BETWEEN %(first)s AND %(last)s AND status = 1
ORDER BY run_id;
