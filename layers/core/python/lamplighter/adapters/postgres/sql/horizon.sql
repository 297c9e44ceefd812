-- name: agenda
-- The first of each, at the head of its index. No parameters, so it is planned once: the plan spans
-- every day, and a leader asks twice a second.
SELECT (SELECT min(next_fire_at) FROM schedules), (SELECT min(wake_at) FROM job_runs);

-- name: due_schedules
SELECT s.next_fire_at, {job_columns}
FROM schedules AS s JOIN jobs AS j USING (job_id)
WHERE s.next_fire_at < %(until)s ORDER BY s.next_fire_at, s.job_id LIMIT %(limit)s;

-- name: hold_lease
-- The lease must be this holder's until the transaction ends: a new leader waits for that.
SELECT epoch FROM leases
WHERE name = %(name)s AND holder = %(holder)s AND epoch = %(epoch)s
  AND expires_at > clock_timestamp() FOR SHARE;

-- name: move_schedules
-- Move schedules on, those that still stand where the planner saw them; returns which moved.
WITH given AS (
    SELECT * FROM unnest(%(job_ids)s, %(seen_fires)s, %(versions)s, %(next_fires)s)
        AS given (job_id, seen_fire, version, next_fire)
), moved AS (
    UPDATE schedules AS s SET next_fire_at = given.next_fire
    FROM given
    WHERE s.job_id = given.job_id AND s.next_fire_at = given.seen_fire
      AND s.version = given.version AND given.next_fire IS NOT NULL
    RETURNING s.job_id
), gone AS (
    DELETE FROM schedules AS s USING given
    WHERE s.job_id = given.job_id AND s.next_fire_at = given.seen_fire
      AND s.version = given.version AND given.next_fire IS NULL
    RETURNING s.job_id
)
SELECT job_id FROM moved UNION ALL SELECT job_id FROM gone;

-- name: insert_missed
-- Consecutive fires that will not run, in one row. Returns the rows that were written.
INSERT INTO job_runs (run_id, job_id, tenant, pool, priority, delay_ms, status, reason, end_time,
                      missed_to, missed_count)
SELECT run_id, job_id, tenant, pool, priority, delay_ms, 14, reason, clock_timestamp(), missed_to,
       missed_count
FROM unnest(%(run_ids)s, %(job_ids)s, %(tenants)s, %(pools)s, %(priorities)s, %(delays)s,
            %(reasons)s, %(missed_tos)s, %(missed_counts)s)
     AS given (run_id, job_id, tenant, pool, priority, delay_ms, reason, missed_to, missed_count)
ON CONFLICT (run_id) DO NOTHING RETURNING run_id;

-- name: told_to
-- Up to which fire each of these rows tells what became of it.
SELECT run_id, coalesce(missed_to, fire_of(run_id)) FROM job_runs
WHERE run_id = ANY(%(run_ids)s) AND run_id BETWEEN %(first)s AND %(last)s;

-- name: page
-- On schedule: what waits for its time, by key. A range of the primary key, and nothing else.
SELECT run_id, tenant, pool, priority, delay_ms, fence FROM job_runs
WHERE run_id > %(after)s AND run_id < %(until)s AND status = 1 AND wake_at IS NULL
ORDER BY run_id LIMIT %(limit)s;

-- name: unclaimed
-- For a metric, every few seconds: what had its time on schedule and must be called since, because
-- nobody claims it. However many there are, it looks at some of them.
SELECT run_id, tenant, pool, priority, delay_ms, fence FROM (
    SELECT run_id, tenant, pool, priority, delay_ms, fence FROM job_runs
    WHERE wake_at <= %(until)s AND status = 1 AND fence = 0
      AND origin = 'schedule' AND NOT excused
    ORDER BY wake_at LIMIT %(limit)s
) AS called ORDER BY run_id LIMIT 1;

-- name: busy_pools
-- For a metric, every few seconds, of pools that are scaled by it. A batch that was reported is over,
-- and one is of one pool.
SELECT DISTINCT busy.pool FROM claims AS c CROSS JOIN LATERAL (
    SELECT r.pool FROM unnest(c.run_ids) AS held (run_id) JOIN job_runs AS r USING (run_id)
    WHERE r.status IN (4, 7) AND r.executor_id = c.worker_id LIMIT 1) AS busy
WHERE c.reported_at IS NULL AND busy.pool = ANY(%(pools)s);

-- name: wake
-- Off schedule: what has a wake-up call that is due. The call is moved on by a minute, so that a
-- message that vanishes is sent again; only a claim, an end or parking silences it.
WITH due AS (
    SELECT run_id, wake_at FROM job_runs
    WHERE wake_at <= %(until)s AND status IN (1, 5)
    ORDER BY wake_at LIMIT %(limit)s FOR NO KEY UPDATE SKIP LOCKED
)
UPDATE job_runs AS r SET wake_at = greatest(clock_timestamp(), due.wake_at) + interval '60 s'
FROM due WHERE r.run_id = due.run_id
RETURNING r.run_id, r.tenant, r.pool, r.priority, r.delay_ms, r.fence, due.wake_at;

-- name: overdue
-- Blocked, parked and held runs that have waited too long.
SELECT run_id FROM job_runs
WHERE wake_at <= clock_timestamp() AND status IN (2, 3, 6) ORDER BY wake_at LIMIT %(limit)s;

-- name: blocked
-- Blocked runs whose time has come, from one deadline to a later one: all of those that share it.
SELECT run_id, wake_at FROM job_runs
WHERE wake_at > %(after)s AND status = 2 AND fire_of(run_id) <= clock_timestamp()
ORDER BY wake_at FETCH FIRST (%(limit)s) ROWS WITH TIES;

-- name: cursor
SELECT loaded_to, watermark FROM ledger_bounds;

-- name: move_cursor
UPDATE ledger_bounds SET loaded_to = %(loaded_to)s;

-- name: set_candidate
-- Every transaction that has an id by this moment has one below the barrier, this one's own. (The
-- snapshot's xmax would not do: it is the id after the last that has ended, maybe of an open one.)
UPDATE ledger_bounds
SET candidate = %(to)s, barrier = pg_current_xact_id()
WHERE candidate IS NULL AND watermark < %(to)s
  AND %(to)s <= clock_timestamp() - interval '5 s';

-- name: passable
-- The candidate, once every transaction that was open when it was set has ended.
SELECT watermark, candidate FROM ledger_bounds
WHERE barrier <= pg_snapshot_xmin(pg_current_snapshot())
FOR UPDATE;

-- name: wake_unclaimed
-- Below the candidate nothing may still wait to be looked at: what is unclaimed gets a wake-up call,
-- a page at a time. Jitter is kept.
UPDATE job_runs AS r
SET wake_at = greatest(clock_timestamp(), fire_of(r.run_id) + r.delay_ms * interval '1 ms')
FROM (SELECT run_id FROM job_runs
      WHERE run_id >= %(from)s AND run_id < %(to)s AND status = 1 AND wake_at IS NULL
      ORDER BY run_id LIMIT %(limit)s FOR NO KEY UPDATE) AS left_behind
WHERE r.run_id = left_behind.run_id AND r.run_id >= %(from)s AND r.run_id < %(to)s
RETURNING r.run_id;

-- name: pass_candidate
UPDATE ledger_bounds SET watermark = candidate, candidate = NULL, barrier = NULL;
