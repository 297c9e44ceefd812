-- How many workers of each pool were heard of since, and how many runs they can do at once.
-- Reads the whole table: it has a row for each worker that lives, or did so half a minute ago.
SELECT pool, count(*), sum(capacity)::bigint
FROM workers
WHERE heartbeat_at > %(since)s
GROUP BY pool
ORDER BY pool
