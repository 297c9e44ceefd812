SELECT run_id, attempt_number, fence, verdict, started_at, ended_at, executor_id, NULL
FROM run_attempts
WHERE run_id = ANY(%(run_ids)s)
ORDER BY run_id, fence
