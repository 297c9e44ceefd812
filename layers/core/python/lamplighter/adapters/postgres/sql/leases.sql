-- name: acquire
-- Take a lease that is free or has run out. The epoch rises with every new holder.
INSERT INTO leases AS l (name, holder, epoch, expires_at)
VALUES (%(name)s, %(holder)s, 1, clock_timestamp() + %(ttl)s)
ON CONFLICT (name) DO UPDATE
SET holder = excluded.holder, epoch = l.epoch + 1, expires_at = clock_timestamp() + %(ttl)s
WHERE l.expires_at <= clock_timestamp()
RETURNING name, holder, epoch, expires_at;

-- name: renew
-- Only the holder of this very epoch, and only while it has not run out.
UPDATE leases SET expires_at = clock_timestamp() + %(ttl)s
WHERE name = %(name)s AND holder = %(holder)s AND epoch = %(epoch)s
  AND expires_at > clock_timestamp()
RETURNING name, holder, epoch, expires_at;

-- name: release
UPDATE leases SET expires_at = clock_timestamp()
WHERE name = %(name)s AND holder = %(holder)s AND epoch = %(epoch)s;
