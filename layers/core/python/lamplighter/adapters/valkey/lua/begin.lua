-- begin: lead from here on. Never lowers the epoch.
-- with: keys
-- ARGV    epoch, how far the ledger thinks that loading has come, its watermark; both in ms
-- returns from where to load, which is now the last_pull_time: a leader that dies before it has
--         loaded anything leaves the next one no wiser
local epoch, loaded_to, watermark = ARGV[1], ARGV[2], ARGV[3]
local known, stood_at = unpack(redis.call('HMGET', SENTINEL, 'epoch', 'last_pull_time'))
if known and tonumber(epoch) < tonumber(known) then
    return redis.error_reply('STALE epoch ' .. known .. ' has begun')
end
local has_all = stood_at and tonumber(stood_at) >= tonumber(loaded_to)
local from = has_all and loaded_to or watermark
redis.call('HSET', SENTINEL, 'epoch', epoch, 'last_pull_time', from)
return from
