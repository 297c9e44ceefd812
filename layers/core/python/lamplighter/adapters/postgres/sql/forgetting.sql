-- name: ended_jobs
-- Jobs that were cancelled or refused before an instant, a page at a time.
SELECT j.updated_at, j.job_id FROM jobs AS j
WHERE j.status >= 3 AND j.updated_at < %(before)s AND (j.updated_at, j.job_id) > (%(at)s, %(job_id)s)
ORDER BY j.updated_at, j.job_id LIMIT %(limit)s;

-- name: forget_versions
DELETE FROM job_versions WHERE ctid = ANY(ARRAY(
    SELECT v.ctid FROM job_versions AS v WHERE v.valid_to < %(before)s
    ORDER BY v.valid_to LIMIT %(limit)s))
RETURNING version;

-- name: forget_audit
DELETE FROM audit_log WHERE ctid = ANY(ARRAY(
    SELECT a.ctid FROM audit_log AS a WHERE a.at < %(before)s ORDER BY a.at LIMIT %(limit)s))
RETURNING audit_id;

-- name: forget_minutes
DELETE FROM stats_minute WHERE ctid = ANY(ARRAY(
    SELECT s.ctid FROM stats_minute AS s WHERE s.minute < %(before)s
    ORDER BY s.minute LIMIT %(limit)s))
RETURNING minute;
