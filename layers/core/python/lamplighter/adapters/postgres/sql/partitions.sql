-- name: lock_partitions
SELECT pg_advisory_xact_lock(hashtextextended('lamplighter:partitions', 0));

-- name: partitions
-- The days that the ledger has, oldest first, by the names of their tables.
SELECT c.relname FROM pg_inherits AS i JOIN pg_class AS c ON c.oid = i.inhrelid
WHERE i.inhparent = 'job_runs'::regclass AND NOT i.inhdetachpending ORDER BY c.relname;

-- name: cut_off
-- Days that somebody began to retire: still half in the ledger (true), or beside it (false).
SELECT c.relname, i.inhrelid IS NOT NULL
FROM pg_class AS c LEFT JOIN pg_inherits AS i ON i.inhrelid = c.oid
WHERE c.relname ~ '^job_runs_[0-9]{8}$' AND c.relkind = 'r' AND pg_table_is_visible(c.oid)
  AND (i.inhrelid IS NULL OR i.inhdetachpending) ORDER BY c.relname;

-- name: make_ready
UPDATE ledger_bounds SET ready_from = %(ready_from)s, ready_to = %(ready_to)s;

-- name: bounds
SELECT ready_from, ready_to FROM ledger_bounds;

-- name: set_aside
-- Days that were taken out of the ledger and have not been forgotten to the end.
SELECT substr(c.relname, 9) FROM pg_class AS c
WHERE c.relname ~ '^retired_job_runs_[0-9]{8}$' AND c.relkind = 'r' AND pg_table_is_visible(c.oid)
ORDER BY c.relname;

-- name: stamp
SELECT c.xmin::text FROM pg_class AS c WHERE c.oid = to_regclass(%(name)s);

-- name: open_in_page
-- Of the next page of a day's runs: the last one, and whether one has not ended.
SELECT (array_agg(run_id ORDER BY run_id DESC))[1], coalesce(bool_or(status < 10), false)
FROM (SELECT r.run_id, r.status FROM job_runs AS r
      WHERE r.run_id > %(after)s ORDER BY r.run_id LIMIT %(limit)s) AS page;

-- name: jobs_in_page
SELECT r.run_id, r.job_id FROM job_runs AS r
WHERE r.run_id > %(after)s ORDER BY r.run_id LIMIT %(limit)s;

-- name: lock_finished
-- Of these jobs those that will not fire by themselves: they fire once, or ended long ago. Nobody
-- begins to wait for them meanwhile.
SELECT j.job_id FROM jobs AS j
WHERE j.job_id = ANY(%(job_ids)s)
  AND (NOT j.repeats OR (j.status >= 3 AND j.updated_at < %(before)s))
ORDER BY j.job_id FOR UPDATE OF j;

-- name: forget_jobs
-- Of these jobs, those leave that have no history and are still to do nothing. A graph leaves
-- whole, and an upstream stays as long as somebody below it does; those are answered.
-- Each job is asked for by key: a join would read the whole ledger.
WITH RECURSIVE done AS MATERIALIZED (
    SELECT j.job_id FROM unnest(%(job_ids)s) AS j (job_id)
    WHERE (SELECT r.run_id FROM job_runs AS r WHERE r.job_id = j.job_id LIMIT 1) IS NULL
      AND (SELECT s.job_id FROM schedules AS s WHERE s.job_id = j.job_id) IS NULL
), needed (job_id) AS (
    SELECT d.upstream_id FROM job_dependencies AS d
    WHERE d.upstream_id = ANY(ARRAY(SELECT job_id FROM done))
      AND d.job_id NOT IN (SELECT job_id FROM done)
    UNION
    SELECT d.upstream_id FROM needed CROSS JOIN LATERAL (
        SELECT e.upstream_id FROM job_dependencies AS e WHERE e.job_id = needed.job_id OFFSET 0
    ) AS d
), leaving AS MATERIALIZED (
    SELECT job_id FROM done WHERE job_id NOT IN (SELECT job_id FROM needed)
), parted AS (  -- or an upstream that goes before its dependent would still be referred to
    DELETE FROM job_dependencies WHERE job_id = ANY(ARRAY(SELECT job_id FROM leaving))
    RETURNING upstream_id
), past AS (
    DELETE FROM job_versions WHERE job_id = ANY(ARRAY(SELECT job_id FROM leaving))
), gone AS (
    DELETE FROM jobs WHERE job_id = ANY(ARRAY(SELECT job_id FROM leaving))
)
SELECT DISTINCT upstream_id FROM parted WHERE upstream_id NOT IN (SELECT job_id FROM leaving);

-- name: fired_above
-- These jobs and all above them that fire once, near ones first. None, where one of them is still
-- to fire: the others may not have had their time either.
WITH RECURSIVE above (job_id) AS (
    SELECT j.job_id FROM unnest(%(job_ids)s) AS j (job_id)
    UNION
    SELECT d.upstream_id FROM above AS a CROSS JOIN LATERAL (
        SELECT e.upstream_id FROM job_dependencies AS e WHERE e.job_id = a.job_id OFFSET 0
    ) AS d
    WHERE NOT (SELECT j.repeats FROM jobs AS j WHERE j.job_id = d.upstream_id)
)
SELECT job_id FROM above
WHERE NOT EXISTS (SELECT FROM schedules AS s
                  WHERE s.job_id = ANY(ARRAY(SELECT job_id FROM above)))
LIMIT %(limit)s;

-- name: forget_attempts
DELETE FROM run_attempts WHERE ctid = ANY(ARRAY(
    SELECT a.ctid FROM run_attempts AS a WHERE a.run_id >= %(first)s AND a.run_id < %(last)s
    ORDER BY a.run_id LIMIT %(limit)s))
RETURNING run_id;
