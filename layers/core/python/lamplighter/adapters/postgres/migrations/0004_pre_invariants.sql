-- A run never lost fewer than no workers, and stands for several fires only if it says up to which.
ALTER TABLE job_runs ADD CHECK (losses >= 0);
ALTER TABLE job_runs ADD CHECK (missed_count = 1 OR missed_to IS NOT NULL);
-- It compared the limit, and what is unknown passes a CHECK: a key without a limit was let in.
ALTER TABLE jobs DROP CONSTRAINT jobs_check,
                 ADD CONSTRAINT jobs_check
                     CHECK (concurrency_key IS NULL OR max_concurrency IS NOT NULL);
