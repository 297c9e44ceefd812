SELECT {run_columns}
FROM job_runs AS r
WHERE r.run_id >= %(first)s AND r.run_id < %(last)s
  AND (%(tenant)s::text IS NULL OR r.tenant = %(tenant)s)
  AND NOT EXISTS (SELECT FROM jobs AS j WHERE j.job_id = r.job_id)
ORDER BY r.run_id
LIMIT %(limit)s
