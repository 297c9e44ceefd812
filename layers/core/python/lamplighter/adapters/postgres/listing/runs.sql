-- A page of a tenant's runs, latest fire first. The key is the time, so a range of fires is a range
-- of the primary key, and other days' partitions are not touched; with a job, its own index is walked.
-- As for jobs: `scan` rows at most, and the first two columns tell how far it looked.
WITH scanned AS (
    SELECT r.run_id,
           (%(status)s::smallint IS NULL OR r.status = %(status)s)
           AND (%(due)s::boolean IS NULL OR %(due)s = (
                fire_of(r.run_id) + r.delay_ms * interval '1 ms' <= clock_timestamp()))
           AND (%(pool)s::text IS NULL OR r.pool = %(pool)s)
           AND (%(origin)s::text IS NULL OR r.origin = %(origin)s
                -- A backfill goes by its id alone, too.
                OR (starts_with(%(origin)s, 'backfill:')
                    AND starts_with(r.origin, %(origin)s || ':at_once='))) AS wanted
    FROM job_runs AS r
    WHERE r.tenant = %(tenant)s AND r.run_id >= %(first)s AND r.run_id < %(before)s
      AND (%(job_id)s::uuid IS NULL OR r.job_id = %(job_id)s)
    ORDER BY r.run_id DESC
    LIMIT %(scan)s
), page AS (
    SELECT run_id FROM scanned WHERE wanted ORDER BY run_id DESC LIMIT %(limit)s
)
SELECT (SELECT count(*) FROM scanned),
       (SELECT run_id FROM scanned ORDER BY run_id LIMIT 1),
       {run_columns}
FROM (SELECT) AS always_a_row
LEFT JOIN page ON true
LEFT JOIN job_runs AS r
       ON r.run_id = page.run_id AND r.run_id >= %(first)s AND r.run_id < %(before)s
ORDER BY page.run_id DESC
