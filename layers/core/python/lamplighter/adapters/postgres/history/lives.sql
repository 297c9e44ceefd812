-- A page of jobs by id, or those that are named, each with where planning stands.
SELECT {job_columns}, s.next_fire_at
FROM jobs AS j LEFT JOIN schedules AS s ON s.job_id = j.job_id
WHERE j.job_id > %(after)s
  AND (%(tenant)s::text IS NULL OR j.tenant = %(tenant)s)
  AND (%(job_ids)s::uuid[] IS NULL OR j.job_id = ANY(%(job_ids)s::uuid[]))
ORDER BY j.job_id
LIMIT %(limit)s
