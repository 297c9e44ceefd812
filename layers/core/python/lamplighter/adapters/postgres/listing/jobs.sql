-- A page of a tenant's jobs, highest id first. Looks at `scan` rows by key, at most; whatever the
-- filter leaves of them, the first two columns tell how far it looked, also where nothing is left.
WITH scanned AS (
    SELECT j.job_id,
           (%(status)s::smallint IS NULL OR j.status = %(status)s)
           AND (%(schedule_type)s::text IS NULL OR j.schedule_type = %(schedule_type)s)
           AND (%(pool)s::text IS NULL
                OR coalesce(j.policy -> 'fan_out' ? %(pool)s, j.pool = %(pool)s))
           AND (%(tag)s::text IS NULL OR %(tag)s = ANY(j.tags))
           AND (%(name)s::text IS NULL OR strpos(lower(j.name), lower(%(name)s)) > 0) AS wanted
    FROM jobs AS j
    WHERE j.tenant = %(tenant)s AND j.job_id < %(before)s
    ORDER BY j.job_id DESC
    LIMIT %(scan)s
), page AS (
    SELECT job_id FROM scanned WHERE wanted ORDER BY job_id DESC LIMIT %(limit)s
)
SELECT (SELECT count(*) FROM scanned),
       (SELECT job_id FROM scanned ORDER BY job_id LIMIT 1),
       {job_columns}
FROM (SELECT) AS always_a_row
LEFT JOIN page ON true
LEFT JOIN jobs AS j ON j.job_id = page.job_id
ORDER BY page.job_id DESC
