-- Walks a job's runs backwards from a moment, and is asked only where a fire seems to be missing.
SELECT DISTINCT ON (r.pool) {run_columns}
FROM job_runs AS r
WHERE r.job_id = %(job_id)s AND r.run_id < %(first)s AND r.missed_to >= %(since)s
ORDER BY r.pool, r.run_id DESC
