-- name: peek_runs
-- Runs with their jobs, unlocked: which keys would have to be locked first?
SELECT {run_columns}, {job_columns}
FROM job_runs AS r JOIN jobs AS j USING (job_id)
WHERE r.run_id = ANY(%(run_ids)s) AND r.run_id BETWEEN %(first)s AND %(last)s;

-- name: lock_runs
-- The same, locked, in the order of their keys: whoever locks runs does it in this order.
SELECT {run_columns}, {job_columns}
FROM job_runs AS r JOIN jobs AS j USING (job_id)
WHERE r.run_id = ANY(%(run_ids)s) AND r.run_id BETWEEN %(first)s AND %(last)s
ORDER BY r.run_id FOR NO KEY UPDATE OF r;

-- name: write_runs
-- Write back runs that were locked and judged: everything that can change, for the whole batch.
UPDATE job_runs AS r
SET status = given.status, fence = given.fence, attempt_number = given.attempt_number,
    losses = given.losses, slotted = given.slotted, excused = given.excused,
    wake_at = given.wake_at, start_time = given.start_time, end_time = given.end_time,
    executor_id = given.executor_id, reason = given.reason, error_message = given.error_message,
    log_url = given.log_url, result = given.result, stdout = given.stdout, stderr = given.stderr,
    modified_time = clock_timestamp()
FROM unnest(%(run_ids)s, %(states)s, %(fences)s, %(attempt_numbers)s, %(losses)s, %(slotted)s,
            %(excused)s, %(wake_ats)s, %(start_times)s, %(end_times)s, %(executor_ids)s,
            %(reasons)s, %(error_messages)s, %(log_urls)s, %(results)s, %(stdouts)s, %(stderrs)s)
     AS given (run_id, status, fence, attempt_number, losses, slotted, excused, wake_at,
               start_time, end_time, executor_id, reason, error_message, log_url, result, stdout,
               stderr)
WHERE r.run_id = given.run_id AND r.run_id = ANY(%(run_ids)s);

-- name: insert_runs
-- Write new runs. The insert itself wakes a run that is born late: the load cursor may have passed
-- it by the time this commits.
INSERT INTO job_runs (run_id, job_id, tenant, pool, origin, priority, status, slotted, delay_ms,
                      wake_at)
SELECT run_id, job_id, tenant, pool, origin, priority, status, slotted, delay_ms,
       CASE WHEN status = 2 THEN greatest(fire_at, clock_timestamp()) + patience * interval '1 s'
            WHEN status = 3 THEN (  -- whoever gives its slot up wakes it; the sweep, as it expires
                SELECT least(j.expires_at, given.fire_at + given.delay_ms * interval '1 ms'
                                           + j.start_deadline_seconds * interval '1 s')
                FROM jobs AS j WHERE j.job_id = given.job_id)
            WHEN fire_at < clock_timestamp() - interval '2 s' THEN clock_timestamp() END
FROM unnest(%(run_ids)s, %(run_job_ids)s, %(run_tenants)s, %(run_pools)s, %(run_origins)s,
            %(run_priorities)s, %(run_states)s, %(run_slotted)s, %(run_delays)s, %(run_fires)s,
            %(run_patience)s)
     AS given (run_id, job_id, tenant, pool, origin, priority, status, slotted, delay_ms, fire_at,
               patience)
ON CONFLICT (run_id) DO NOTHING
RETURNING run_id;

-- name: insert_attempts
INSERT INTO run_attempts (run_id, fence, tenant, attempt_number, verdict, started_at, ended_at,
                          executor_id, error_message)
SELECT * FROM unnest(%(run_ids)s, %(fences)s, %(tenants)s, %(attempt_numbers)s, %(verdicts)s,
                     %(started_ats)s, %(ended_ats)s, %(executor_ids)s, %(error_messages)s)
ON CONFLICT (run_id, fence) DO NOTHING;

-- name: ask_to_stop
INSERT INTO cancellations (run_id, worker_id)
SELECT * FROM unnest(%(run_ids)s, %(worker_ids)s)
ON CONFLICT (run_id) DO UPDATE SET worker_id = excluded.worker_id;

-- name: no_longer_asked
DELETE FROM cancellations WHERE run_id = ANY(%(run_ids)s);
