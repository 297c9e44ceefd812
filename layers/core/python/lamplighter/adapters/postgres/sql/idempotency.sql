-- name: forget_old_keys
-- Whoever brings a key takes some old ones away: there are never many more than a day's.
DELETE FROM idempotency_keys WHERE ctid = ANY(ARRAY(
    SELECT ctid FROM idempotency_keys
    WHERE used_at < clock_timestamp() - interval '1 day'
    ORDER BY used_at LIMIT 100 FOR UPDATE SKIP LOCKED));

-- name: use_key
-- Of two that come at once one inserts; the other waits for it, and is told what it finds. A key
-- whose day is over is as good as new.
INSERT INTO idempotency_keys AS known (tenant, route, key, fingerprint)
VALUES (%(tenant)s, %(route)s, %(key)s, %(fingerprint)s)
ON CONFLICT (tenant, route, key) DO UPDATE
SET (fingerprint, used_at, answer) = (
    SELECT CASE WHEN is_new THEN excluded.fingerprint ELSE known.fingerprint END,
           CASE WHEN is_new THEN excluded.used_at ELSE known.used_at END,
           CASE WHEN is_new THEN NULL ELSE known.answer END
    FROM (SELECT known.used_at < clock_timestamp() - interval '1 day' AS is_new) AS age)
RETURNING fingerprint, used_at, answer;

-- name: answer_key
-- Inserts where one that was sent at the same time, and refused, has forgotten the key meanwhile.
INSERT INTO idempotency_keys AS known (tenant, route, key, fingerprint, answer)
VALUES (%(tenant)s, %(route)s, %(key)s, %(fingerprint)s, %(answer)s)
ON CONFLICT (tenant, route, key) DO UPDATE SET answer = excluded.answer
WHERE known.fingerprint = excluded.fingerprint;

-- name: forget_key
DELETE FROM idempotency_keys
WHERE tenant = %(tenant)s AND route = %(route)s AND key = %(key)s AND answer IS NULL;
