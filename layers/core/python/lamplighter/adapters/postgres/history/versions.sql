-- What these jobs were before.
SELECT job_id, job - 'payload' - 'target'
FROM job_versions
WHERE job_id = ANY(%(job_ids)s)
ORDER BY job_id, version
