-- Find what leaves after the retention: a handful of rows an hour, in tables that only grow.
CREATE INDEX jobs_ended ON jobs (updated_at, job_id) WHERE status >= 3;
CREATE INDEX job_versions_by_age ON job_versions (valid_to);
CREATE INDEX audit_log_by_age ON audit_log (at);
