-- take_over: what is in flight, a page at a time.
-- with: keys, guard
-- ARGV    epoch, cursor (0 at first), how many about
-- returns the next cursor (0 at the end) and members of `in_flight`
local refused = guard(tonumber(ARGV[1]))
if refused then
    return refused
end
return redis.call('SSCAN', IN_FLIGHT, ARGV[2], 'COUNT', ARGV[3])
