-- Who works, or did so lately: the sweep forgets workers that have been silent for long.
SELECT worker_id, pool, capacity, started_at, heartbeat_at
FROM workers
WHERE worker_id > %(after)s
ORDER BY worker_id
LIMIT %(limit)s
