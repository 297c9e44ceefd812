-- name: lease
SELECT name, holder, epoch, expires_at FROM leases WHERE name = %(name)s;

-- name: acquire
-- Take a lease that is free or has run out; one's own may be asked for again. The epoch rises with
-- every new holder, and whenever it had run out.
INSERT INTO leases AS l (name, holder, epoch, expires_at)
VALUES (%(name)s, %(holder)s, 1, clock_timestamp() + %(ttl)s)
ON CONFLICT (name) DO UPDATE
SET holder = excluded.holder, expires_at = clock_timestamp() + %(ttl)s,
    epoch = CASE WHEN l.expires_at > clock_timestamp() THEN l.epoch ELSE l.epoch + 1 END
WHERE l.expires_at <= clock_timestamp() OR l.holder = excluded.holder
RETURNING name, holder, epoch, expires_at;

-- name: renew
-- Only the holder of this very epoch, and only while it has not run out.
UPDATE leases SET expires_at = clock_timestamp() + %(ttl)s
WHERE name = %(name)s AND holder = %(holder)s AND epoch = %(epoch)s
  AND expires_at > clock_timestamp()
RETURNING name, holder, epoch, expires_at;

-- name: release
-- One that ran out before stays as it is: when somebody last led is remembered by it.
UPDATE leases SET expires_at = least(expires_at, clock_timestamp())
WHERE name = %(name)s AND holder = %(holder)s AND epoch = %(epoch)s;
