-- Who holds a slot of these keys, and who has a place in their lines without being parked there.
SELECT key, array_agg(run_id)
FROM (
    SELECT key, run_id FROM slots WHERE key = ANY(%(keys)s) AND n > 0
    UNION ALL
    SELECT q.key, q.run_id
    FROM slot_queue AS q JOIN job_runs AS r ON r.run_id = q.run_id
    WHERE q.key = ANY(%(keys)s) AND r.status <> 3
) AS ahead
GROUP BY key
