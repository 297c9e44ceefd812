-- begin: lead from here on. Never lowers the epoch.
-- with: keys
-- ARGV    epoch, last_pull_time in ms
-- returns the last_pull_time that stood here before, or nothing where there was no sentinel
local epoch, loaded_to = ARGV[1], ARGV[2]
local known, stood_at = unpack(redis.call('HMGET', SENTINEL, 'epoch', 'last_pull_time'))
if known and tonumber(epoch) < tonumber(known) then
    return redis.error_reply('STALE epoch ' .. known .. ' has begun')
end
redis.call('HSET', SENTINEL, 'epoch', epoch, 'last_pull_time', loaded_to)
return stood_at
