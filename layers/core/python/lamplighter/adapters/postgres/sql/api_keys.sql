-- name: add
INSERT INTO api_keys (key_id, tenant, name, role, hash, created_at, expires_at)
VALUES (%(key_id)s, %(tenant)s, %(name)s, %(role)s, %(hash)s, now(), now() + %(lifetime)s::interval)
RETURNING key_id, tenant, name, role, created_at, expires_at, revoked_at;

-- name: find
-- By a unique index over digests: nothing of the key itself is here to be compared.
SELECT key_id, tenant, name, role, created_at, expires_at, revoked_at
FROM api_keys WHERE hash = %(hash)s;

-- name: list
SELECT key_id, tenant, name, role, created_at, expires_at, revoked_at
FROM api_keys WHERE %(tenant)s::text IS NULL OR tenant = %(tenant)s
ORDER BY created_at DESC, key_id LIMIT 10000;

-- name: revoke
-- The first time counts.
UPDATE api_keys SET revoked_at = coalesce(revoked_at, now())
WHERE key_id = %(key_id)s
RETURNING hash;
