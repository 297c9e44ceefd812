-- name: now
SELECT clock_timestamp();

-- name: job
SELECT {job_columns} FROM jobs AS j WHERE j.tenant = %(tenant)s AND j.job_id = %(job_id)s;

-- name: job_versions
SELECT job FROM job_versions WHERE tenant = %(tenant)s AND job_id = %(job_id)s ORDER BY version;

-- name: run
SELECT {run_columns} FROM job_runs AS r WHERE r.tenant = %(tenant)s AND r.run_id = %(run_id)s;

-- name: runs
SELECT {run_columns} FROM job_runs AS r
WHERE r.tenant = %(tenant)s AND r.job_id = %(job_id)s ORDER BY r.run_id DESC LIMIT %(limit)s;

-- name: attempts
SELECT run_id, attempt_number, fence, verdict, started_at, ended_at, executor_id, error_message
FROM run_attempts WHERE tenant = %(tenant)s AND run_id = %(run_id)s ORDER BY fence;

-- name: count_runs
SELECT count(*) FROM job_runs WHERE status = %(status)s;
