-- The runs of some jobs: the range of keys names the days, and the index of each day the jobs.
SELECT {run_columns}
FROM job_runs AS r
WHERE r.job_id = ANY(%(job_ids)s) AND r.run_id >= %(first)s AND r.run_id < %(last)s
ORDER BY r.run_id
