-- name: make_keys
-- Slot 0 of a key is its lock; make the missing ones, in order, so that nobody waits in a circle.
INSERT INTO slots (key, n) SELECT key, 0 FROM unnest(%(keys)s) AS given (key) ORDER BY key
ON CONFLICT (key, n) DO NOTHING;

-- name: lock_keys
SELECT key FROM slots WHERE key = ANY(%(keys)s) AND n = 0 ORDER BY key FOR UPDATE;

-- name: keys_of_runs
-- Every key under which one of these runs holds a slot or waits.
SELECT key, run_id FROM slots WHERE run_id = ANY(%(run_ids)s)
UNION SELECT key, run_id FROM slot_queue WHERE run_id = ANY(%(run_ids)s);

-- name: holders
SELECT key, n, run_id FROM slots WHERE key = ANY(%(keys)s) AND n > 0;

-- name: waiting
-- The first in line of each key: enough of them for every slot that could be free.
SELECT q.key, q.run_id, q.max_slots, q.is_parked
FROM unnest(%(keys)s) AS given (key)
CROSS JOIN LATERAL (
    SELECT w.*, r.status = 3 AS is_parked
    FROM slot_queue AS w LEFT JOIN job_runs AS r USING (run_id)
    WHERE w.key = given.key ORDER BY w.fire_at, w.seq LIMIT %(limit)s
) AS q
ORDER BY q.key, q.fire_at, q.seq;

-- name: first_in_line
-- Some keys after this one, and whether their first in line is parked: if a slot is free, nobody
-- has told it. Steps from key to key by the index, however long their queues are.
WITH RECURSIVE first AS (
    (SELECT key, run_id FROM slot_queue WHERE key > %(after)s ORDER BY key, fire_at, seq LIMIT 1)
    UNION ALL
    SELECT next.key, next.run_id
    FROM first CROSS JOIN LATERAL (
        SELECT key, run_id FROM slot_queue WHERE key > first.key
        ORDER BY key, fire_at, seq LIMIT 1) AS next
)
SELECT line.key, coalesce(r.status = 3, false)
FROM (SELECT * FROM first LIMIT %(limit)s) AS line LEFT JOIN job_runs AS r USING (run_id);

-- name: relimit
-- The places that a job's runs have in a queue follow the job's new limit.
UPDATE slot_queue AS q SET max_slots = %(limit)s
FROM job_runs AS r
WHERE q.key = %(key)s AND r.run_id = q.run_id AND r.job_id = %(job_id)s;

-- name: queued
SELECT run_id FROM slot_queue WHERE run_id = ANY(%(run_ids)s);

-- name: take_slots
INSERT INTO slots (key, n, run_id) SELECT * FROM unnest(%(keys)s, %(numbers)s, %(run_ids)s);

-- name: give_up_slots
DELETE FROM slots USING unnest(%(keys)s, %(run_ids)s) AS given (key, run_id)
WHERE slots.key = given.key AND slots.run_id = given.run_id;

-- name: join_queue
INSERT INTO slot_queue (key, fire_at, run_id, max_slots)
SELECT * FROM unnest(%(keys)s, %(fires)s, %(run_ids)s, %(limits)s)
ON CONFLICT (run_id, key) DO NOTHING;

-- name: leave_queue
DELETE FROM slot_queue USING unnest(%(keys)s, %(run_ids)s) AS given (key, run_id)
WHERE slot_queue.key = given.key AND slot_queue.run_id = given.run_id;
