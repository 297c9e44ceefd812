-- release_lease: give it up at once. One that ran out before stays as it is.
-- with: store_now
-- KEYS[1] lease  hash  holder, epoch, expires_at in ms
-- ARGV    holder, epoch
local now = store_now()
local holder, epoch, expires_at = unpack(redis.call('HMGET', KEYS[1], 'holder', 'epoch', 'expires_at'))
if holder == ARGV[1] and epoch == ARGV[2] and tonumber(expires_at) > now then
    redis.call('HSET', KEYS[1], 'expires_at', string.format('%.0f', now))
end
