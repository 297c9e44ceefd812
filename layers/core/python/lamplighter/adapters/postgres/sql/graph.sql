-- name: lock_graph
-- Edges of one tenant are added one submission at a time, so that two cannot close a cycle between
-- them.
SELECT pg_advisory_xact_lock(hashtextextended('graph:' || %(tenant)s, 0));

-- name: keep_graph
-- Like lock_graph, beside others that ask for the same.
SELECT pg_advisory_xact_lock_shared(hashtextextended('graph:' || %(tenant)s, 0));

-- name: share_graphs
-- Wait for whoever adds edges to the graphs of these runs, and keep others from it: a submission
-- that has just read that an upstream is unfinished must not commit after the one who frees.
SELECT pg_advisory_xact_lock_shared(hashtextextended('graph:' || tenant, 0))
FROM (SELECT DISTINCT tenant FROM job_runs WHERE run_id = ANY(%(run_ids)s) ORDER BY tenant) AS t;

-- name: busy_graphs
-- Those of these tenants to whose graphs somebody adds edges just now. The others keep still until
-- this transaction ends, so what a later statement of it reads of them is all there is.
SELECT tenant FROM unnest(%(tenants)s) AS t (tenant)
WHERE NOT pg_try_advisory_xact_lock_shared(hashtextextended('graph:' || tenant, 0));

-- name: upstreams_among
SELECT DISTINCT upstream_id FROM job_dependencies WHERE upstream_id = ANY(%(job_ids)s);

-- name: lock_jobs
-- Jobs of one tenant, kept from being cancelled or changed until this transaction ends.
SELECT {job_columns} FROM jobs AS j
WHERE j.tenant = %(tenant)s AND j.job_id = ANY(%(job_ids)s)
ORDER BY j.job_id FOR SHARE OF j;

-- name: keep_jobs
-- Jobs that get runs beside their schedules. The weakest lock: who forgets a job, or changes it, waits.
SELECT {job_columns} FROM jobs AS j WHERE j.job_id = ANY(%(job_ids)s)
ORDER BY j.job_id FOR KEY SHARE OF j;

-- name: edges_above
-- Every edge that can be reached upstream from these jobs.
WITH RECURSIVE above (job_id, upstream_id) AS (
    SELECT job_id, upstream_id FROM job_dependencies WHERE job_id = ANY(%(job_ids)s)
    UNION
    SELECT d.job_id, d.upstream_id FROM above AS a JOIN job_dependencies AS d
        ON d.job_id = a.upstream_id
)
SELECT job_id, upstream_id FROM above;

-- name: dependents_below
-- Every job without a schedule of its own that waits for one of these, directly or not.
WITH RECURSIVE below (job_id) AS (
    SELECT d.job_id FROM job_dependencies AS d WHERE d.upstream_id = ANY(%(job_ids)s)
    UNION
    SELECT d.job_id FROM below AS b JOIN job_dependencies AS d ON d.upstream_id = b.job_id
)
SELECT {job_columns} FROM jobs AS j
WHERE j.job_id = ANY(ARRAY(SELECT job_id FROM below))  -- a join would read all of jobs
  AND j.schedule_type = 'AFTER' AND j.status <> 3;

-- name: direct_dependents
SELECT {job_columns} FROM jobs AS j
WHERE j.status <> 3 AND j.job_id IN (
    SELECT d.job_id FROM job_dependencies AS d WHERE d.upstream_id = ANY(%(job_ids)s));

-- name: jobs_by_id
SELECT {job_columns} FROM jobs AS j WHERE j.job_id = ANY(%(job_ids)s);

-- name: fires_of_jobs
-- The runs of these jobs that are still to come, and all of a job that fires once. In two parts: as
-- one condition, every run that a job ever had would be read.
SELECT run_id, job_id, pool, origin FROM job_runs
WHERE job_id = ANY(%(job_ids)s) AND run_id >= %(ahead)s
UNION ALL
SELECT r.* FROM jobs AS j CROSS JOIN LATERAL (
    SELECT run_id, job_id, pool, origin FROM job_runs WHERE job_id = j.job_id OFFSET 0) AS r
WHERE j.job_id = ANY(%(job_ids)s) AND NOT j.repeats;

-- name: insert_edges
INSERT INTO job_dependencies (job_id, upstream_id, tenant, position, rule, within_seconds)
SELECT * FROM unnest(%(job_ids)s, %(upstream_ids)s, %(tenants)s, %(positions)s, %(rules)s,
                     %(withins)s);

-- name: delete_edges
DELETE FROM job_dependencies WHERE job_id = %(job_id)s;

-- name: blocked_runs
-- Blocked runs of these jobs, from a fire on. Each has a wake-up call, so the small index finds them
-- where a job's runs of a week are more.
SELECT r.run_id, r.job_id FROM job_runs AS r
WHERE r.job_id = ANY(%(job_ids)s) AND r.run_id >= %(since)s AND r.status = 2
  AND r.wake_at IS NOT NULL;

-- name: blocked_below
-- Blocked runs between two keys of the jobs below these, directly or not: some, of near ones first.
WITH RECURSIVE below (job_id) AS (
    SELECT d.job_id FROM job_dependencies AS d WHERE d.upstream_id = ANY(%(job_ids)s)
    UNION
    SELECT d.job_id FROM below AS b JOIN job_dependencies AS d ON d.upstream_id = b.job_id
)
SELECT r.run_id FROM job_runs AS r
WHERE r.job_id = ANY(ARRAY(SELECT job_id FROM below LIMIT %(limit)s))
  AND r.run_id >= %(first)s AND r.run_id < %(last)s AND r.status = 2
LIMIT %(limit)s;

-- name: upstream_runs
-- The runs of one upstream and origin each, between two keys: what a dependent waits for.
SELECT given.ask, r.run_id, r.pool, r.status, r.end_time
FROM unnest(%(asks)s, %(job_ids)s, %(origins)s, %(firsts)s, %(lasts)s)
     AS given (ask, job_id, origin, first, last)
CROSS JOIN LATERAL (
    SELECT * FROM job_runs AS r
    WHERE r.job_id = given.job_id AND r.run_id BETWEEN given.first AND given.last
      AND r.origin = given.origin
    ORDER BY r.run_id LIMIT 100
) AS r;

-- name: latest_successes
-- The newest success by schedule of one upstream each, not later than a key.
SELECT given.ask, r.run_id, r.pool, r.status, r.end_time
FROM unnest(%(asks)s, %(job_ids)s, %(firsts)s, %(lasts)s) AS given (ask, job_id, first, last)
CROSS JOIN LATERAL (
    SELECT * FROM job_runs AS r
    WHERE r.job_id = given.job_id AND r.run_id BETWEEN given.first AND given.last
      AND r.origin = 'schedule' AND r.status = 10
    ORDER BY r.run_id DESC LIMIT 1
) AS r;

-- name: jobs_of_runs
SELECT DISTINCT job_id, clock_timestamp() FROM job_runs WHERE run_id = ANY(%(run_ids)s);
