-- name: alone
-- Which of these runs need one slot and no other, that of their own job: fires of a recurring job,
-- which must not overlap. Unlocked: what is true of them is asked again under the key's lock.
SELECT r.run_id, 'overlap:' || r.job_id || ':' || r.pool
FROM job_runs AS r JOIN jobs AS j USING (job_id)
WHERE r.run_id = ANY(%(run_ids)s) AND r.run_id BETWEEN %(first)s AND %(last)s
  AND r.status = 1 AND NOT r.slotted AND NOT starts_with(r.origin, 'backfill:')
  AND j.overlap IN ('forbid', 'replace') AND j.ordering_key IS NULL AND j.max_concurrency IS NULL
ORDER BY r.run_id;
