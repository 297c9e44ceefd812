-- name: claim_plain
-- Give a batch of runs to one worker; returns only those that were free and where nothing needs
-- judging: no slots, no pause, on time. The rest is judged one by one (claim_judged).
-- The fence rises with every claim, so a worker that was thought dead changes nothing later.
-- The ids stand beside the join so that the plan knows their days and goes by the key. CASE keeps
-- statistics out of it: in a day that is nearly over they say that no run has this status, and a plan
-- for one row compares a thousand with a thousand.
-- `n` is the ticket's place in the batch; a row without it is a run that somebody wants stopped.
WITH wanted AS (
    SELECT unnest(%(run_ids)s) AS run_id, unnest(%(fences)s) AS fence,
           unnest(%(fires)s) AS fire_at, generate_series(0, cardinality(%(run_ids)s) - 1) AS n
), claimed AS (
    UPDATE job_runs AS r
    SET status = 4, fence = r.fence + 1, executor_id = %(worker_id)s,
        start_time = clock_timestamp(), modified_time = clock_timestamp(), wake_at = NULL
    FROM wanted AS w, jobs AS j
    WHERE r.run_id = w.run_id AND r.run_id = ANY(%(run_ids)s) AND j.job_id = r.job_id
      AND CASE WHEN r.fence = w.fence AND r.status IN (1, 5) AND NOT r.slotted
          AND j.status = 1 AND NOT j.keyed AND NOT starts_with(r.origin, 'backfill:')
          AND (r.status = 5
               OR w.fire_at + r.delay_ms * interval '1 ms' <= clock_timestamp() + interval '1 s')
          AND (r.start_time IS NOT NULL
               OR ((w.fire_at >= now() - interval '60 s' OR r.excused OR r.origin <> 'schedule'
                    OR j.schedule_type NOT IN ('CRON', 'INTERVAL')
                    OR w.fire_at + r.delay_ms * interval '1 ms' >= now() - interval '60 s')
                   AND (j.expires_at IS NULL OR j.expires_at > clock_timestamp())
                   AND (j.start_deadline_seconds IS NULL
                        OR w.fire_at + r.delay_ms * interval '1 ms'
                           + j.start_deadline_seconds * interval '1 s' >= clock_timestamp())))
          THEN true ELSE false END
    RETURNING w.n, r.run_id, r.job_id, r.tenant, r.pool, r.attempt_number, r.delay_ms, j.name,
              r.priority, j.timeout_seconds, j.target::text, j.payload::text
), batch AS (
    INSERT INTO claims AS c (claim_id, worker_id, run_ids)
    SELECT %(claim_id)s, %(worker_id)s, array_agg(run_id) FROM claimed HAVING count(*) > 0
    ON CONFLICT (claim_id) DO UPDATE
    SET run_ids = c.run_ids || excluded.run_ids, claimed_at = clock_timestamp()
), beat AS (
    INSERT INTO workers (worker_id, pool, capacity)
    VALUES (%(worker_id)s, coalesce((SELECT pool FROM claimed LIMIT 1), 'default'), 0)
    ON CONFLICT (worker_id) DO UPDATE SET heartbeat_at = clock_timestamp()
)
SELECT n, job_id, tenant, pool, attempt_number, delay_ms, name, priority, timeout_seconds, target,
       payload
FROM claimed
UNION ALL
SELECT NULL, run_id, '', '', 0, 0, '', 0, NULL, NULL, NULL
FROM cancellations WHERE worker_id = %(worker_id)s;

-- name: claimed_before
-- What an earlier call under the same claim_id was given: its answer was lost.
SELECT unnest(run_ids) FROM claims WHERE claim_id = %(claim_id)s AND worker_id = %(worker_id)s;

-- name: record_claim
-- A heartbeat too: a claim whose worker is unknown would never be missed.
WITH beat AS (
    INSERT INTO workers (worker_id, pool, capacity) VALUES (%(worker_id)s, 'default', 0)
    ON CONFLICT (worker_id) DO UPDATE SET heartbeat_at = clock_timestamp()
)
INSERT INTO claims AS c (claim_id, worker_id, run_ids)
VALUES (%(claim_id)s, %(worker_id)s, %(run_ids)s)
ON CONFLICT (claim_id) DO UPDATE
SET run_ids = c.run_ids || excluded.run_ids, claimed_at = clock_timestamp();

-- name: heartbeat
-- The worker lives; returns its runs that somebody wants stopped.
WITH beat AS (
    INSERT INTO workers (worker_id, pool, capacity)
    VALUES (%(worker_id)s, %(pool)s, %(capacity)s)
    ON CONFLICT (worker_id) DO UPDATE
    SET heartbeat_at = clock_timestamp(), pool = excluded.pool, capacity = excluded.capacity
)
SELECT run_id FROM cancellations WHERE worker_id = %(worker_id)s;

-- name: mark_reported
UPDATE claims SET reported_at = clock_timestamp()
WHERE claim_id = ANY(%(claim_ids)s) AND reported_at IS NULL;

-- name: silent_claims
-- Batches of workers that have not been heard of for so long. Those that were reported are left to
-- the recorder for ten minutes, since their outcomes may still be on the bus; after that they are
-- taken back even from a worker that lives: those that it has not claimed anew since.
SELECT c.claim_id, c.worker_id, c.run_ids, c.reported_at
FROM workers AS w JOIN claims AS c USING (worker_id)
WHERE c.claimed_at < clock_timestamp() - %(silence)s
  AND CASE WHEN c.reported_at IS NULL THEN w.heartbeat_at < clock_timestamp() - %(silence)s
           ELSE c.reported_at < clock_timestamp() - interval '10 min' END
ORDER BY c.claim_id LIMIT %(limit)s;

-- name: forget_claims
-- Not one that has grown since it was read: its new runs have a living worker.
DELETE FROM claims
WHERE claim_id = ANY(%(claim_ids)s) AND claimed_at < clock_timestamp() - %(silence)s;

-- name: forget_workers
-- Not those with claims: these find their runs. Deleted, so that each is named once.
DELETE FROM workers AS w
WHERE w.heartbeat_at < clock_timestamp() - %(silence)s
  AND NOT EXISTS (SELECT FROM claims AS c WHERE c.worker_id = w.worker_id)
RETURNING worker_id, pool, heartbeat_at;

-- name: is_any_running
-- Whether a worker has something to do, as far as claims tell. Asked by who would let all rest.
-- OFFSET: each batch by its ids. As one join, every day would be read from end to end.
SELECT EXISTS (
    SELECT FROM claims AS c WHERE EXISTS (
        SELECT FROM unnest(c.run_ids) AS held (run_id) JOIN job_runs AS r USING (run_id)
        WHERE r.status IN (4, 7) AND r.executor_id = c.worker_id OFFSET 0));

-- name: forget_done_claims
-- Batches whose runs have all ended or moved on: nobody will have to look for them.
DELETE FROM claims WHERE claimed_at < clock_timestamp() - interval '1 min' AND claim_id IN (
    SELECT c.claim_id FROM claims AS c
    WHERE c.claimed_at < clock_timestamp() - interval '1 min'
      AND NOT EXISTS (
          SELECT FROM unnest(c.run_ids) AS held (run_id) JOIN job_runs AS r USING (run_id)
          WHERE r.status IN (4, 7) AND r.executor_id = c.worker_id)
    LIMIT 1000);

-- name: forget_unused_keys
-- Locks of keys that nobody holds or waits for. Whoever wanted one of them makes it anew.
DELETE FROM slots WHERE n = 0 AND key IN (
    SELECT lock.key FROM slots AS lock
    WHERE lock.n = 0
      AND NOT EXISTS (SELECT FROM slots AS s WHERE s.key = lock.key AND s.n > 0)
      AND NOT EXISTS (SELECT FROM slot_queue AS q WHERE q.key = lock.key)
    LIMIT 1000 FOR UPDATE SKIP LOCKED);
