-- renew_lease: only the holder of this very epoch, and only while it has not run out.
-- with: store_now
-- KEYS[1] lease  hash  holder, epoch, expires_at in ms
-- ARGV    holder, epoch, time to live in ms
-- returns epoch and expires_at in ms; nothing if it is over. Safe to repeat.
local now = store_now()
local holder, epoch, expires_at = unpack(redis.call('HMGET', KEYS[1], 'holder', 'epoch', 'expires_at'))
if holder ~= ARGV[1] or epoch ~= ARGV[2] or tonumber(expires_at) <= now then
    return false
end
expires_at = now + tonumber(ARGV[3])
redis.call('HSET', KEYS[1], 'expires_at', string.format('%.0f', expires_at))
return { tonumber(epoch), expires_at }
