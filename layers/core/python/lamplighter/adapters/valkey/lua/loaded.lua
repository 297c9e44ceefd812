-- loaded: remember how far loading has come.
-- with: keys, guard
-- ARGV    epoch, last_pull_time in ms
-- returns the last_pull_time that stood here before
local refused = guard(tonumber(ARGV[1]))
if refused then
    return refused
end
local stood_at = redis.call('HGET', SENTINEL, 'last_pull_time')
redis.call('HSET', SENTINEL, 'last_pull_time', ARGV[2])
return stood_at
