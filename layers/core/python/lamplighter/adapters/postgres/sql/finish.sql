-- name: finish_plain
-- End a batch of successes that hold no slots: the ordinary end, one statement. Fenced, and only
-- from a state that can end, so that a repeated or late report changes nothing. (CASE and `n`: see
-- claim_plain.)
UPDATE job_runs AS r
SET status = 10, modified_time = clock_timestamp(), error_message = NULL,
    end_time = greatest(least(coalesce(given.ended_at, clock_timestamp()), clock_timestamp()),
                        r.start_time),
    result = given.result, stdout = given.stdout, stderr = given.stderr, log_url = given.log_url
FROM (SELECT unnest(%(run_ids)s) AS run_id, unnest(%(fences)s) AS fence,
             unnest(%(ended_ats)s) AS ended_at, unnest(%(results)s) AS result,
             unnest(%(stdouts)s) AS stdout, unnest(%(stderrs)s) AS stderr,
             unnest(%(log_urls)s) AS log_url,
             generate_series(0, cardinality(%(run_ids)s) - 1) AS n) AS given
WHERE r.run_id = given.run_id AND r.run_id = ANY(%(run_ids)s)
  AND CASE WHEN r.fence = given.fence AND r.status = 4 AND NOT r.slotted THEN true ELSE false END
RETURNING given.n, r.job_id;
