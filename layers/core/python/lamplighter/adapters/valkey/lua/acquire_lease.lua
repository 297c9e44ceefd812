-- acquire_lease: take a lease that is free or has run out; one's own may be asked for again.
-- with: store_now
-- KEYS[1] lease  hash  holder, epoch, expires_at in ms. Not a key that expires: the next epoch is
--                      higher than the last, however long ago that was
-- ARGV    holder, time to live in ms
-- returns epoch and expires_at in ms; nothing while somebody else holds it. Safe to repeat.
local now = store_now()
local holder, epoch, expires_at = unpack(redis.call('HMGET', KEYS[1], 'holder', 'epoch', 'expires_at'))
local is_held = holder and tonumber(expires_at) > now
if is_held and holder ~= ARGV[1] then
    return false
end
epoch = tonumber(epoch or 0) + (is_held and 0 or 1)
expires_at = now + tonumber(ARGV[2])
redis.call('HSET', KEYS[1], 'holder', ARGV[1], 'epoch', epoch, 'expires_at', string.format('%.0f', expires_at))
return { epoch, expires_at }
