-- loaded: remember how far loading has come.
-- with: keys, guard
-- ARGV    epoch, last_pull_time in ms
local refused = guard(tonumber(ARGV[1]))
if refused then
    return refused
end
redis.call('HSET', SENTINEL, 'last_pull_time', ARGV[2])
