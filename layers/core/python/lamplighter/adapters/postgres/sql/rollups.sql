-- name: add_minutes
-- Add a batch to the minutes. Its commit does not wait for the disk: a power cut may cost a curve some
-- counts, and every batch of outcomes would pay for it otherwise. Rows come sorted, so that two
-- recorders never wait for each other.
WITH lazily AS MATERIALIZED (SELECT set_config('synchronous_commit', 'off', true))
INSERT INTO stats_minute AS s
       (minute, tenant, pool, class, status, runs, duration_ms, lateness_ms, max_lateness_ms)
SELECT given.*
FROM lazily,
     (SELECT unnest(%(minutes)s), unnest(%(tenants)s), unnest(%(pools)s), unnest(%(classes)s),
             unnest(%(states)s), unnest(%(runs)s), unnest(%(durations)s), unnest(%(lateness)s),
             unnest(%(latest)s)) AS given
ON CONFLICT (minute, tenant, pool, class, status) DO UPDATE
SET runs = s.runs + excluded.runs,
    duration_ms = s.duration_ms + excluded.duration_ms,
    lateness_ms = s.lateness_ms + excluded.lateness_ms,
    max_lateness_ms = greatest(s.max_lateness_ms, excluded.max_lateness_ms);

-- name: critical_jobs
SELECT job_id, name FROM jobs
WHERE job_id = ANY(%(job_ids)s) AND policy -> 'critical' = 'true'::jsonb;

-- name: note_workers
-- Into the audit log, unless it is there: the bus may deliver twice. The registry has what heartbeats
-- say; a note adds whom it does not know yet, and takes out who stopped and left nothing behind.
WITH told AS (
    SELECT unnest(%(worker_ids)s) AS worker_id, unnest(%(pools)s) AS pool,
           unnest(%(capacities)s) AS capacity, unnest(%(actions)s) AS action, unnest(%(ats)s) AS at
), known AS (
    INSERT INTO workers (worker_id, pool, capacity, started_at, heartbeat_at)
    SELECT DISTINCT ON (worker_id) worker_id, pool, capacity, at, at
    FROM told WHERE action = 'worker.registered' ORDER BY worker_id, at DESC
    ON CONFLICT (worker_id) DO NOTHING
), gone AS (
    DELETE FROM workers AS w USING told AS t
    WHERE t.action = 'worker.stopped' AND w.worker_id = t.worker_id AND w.heartbeat_at <= t.at
      AND NOT EXISTS (SELECT FROM claims AS c WHERE c.worker_id = w.worker_id)
)
INSERT INTO audit_log (tenant, actor, action, subject, at, detail)
SELECT DISTINCT %(tenant)s, worker_id, action, pool, at, jsonb_build_object('capacity', capacity)
FROM told AS t
WHERE NOT EXISTS (
    SELECT FROM audit_log AS a
    WHERE a.tenant = %(tenant)s AND a.at = t.at AND a.actor = t.worker_id AND a.action = t.action);
