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

-- name: forget_attempts
DELETE FROM run_attempts WHERE run_id >= %(first)s AND run_id < %(last)s;
