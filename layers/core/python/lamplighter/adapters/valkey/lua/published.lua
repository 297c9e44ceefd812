-- published: these runs are on the bus; forget them.
-- with: keys, guard
-- ARGV    epoch, then pairs of a body and the ids of the runs that have it, 16 bytes each
-- Safe to repeat: a run that was added again meanwhile is not in flight, and stays.
local refused = guard(tonumber(ARGV[1]))
if refused then
    return refused
end
local ids, members, body_of = {}, {}, {}
for i = 2, #ARGV, 2 do
    local body, packed = ARGV[i], ARGV[i + 1]
    for at = 1, #packed, 16 do
        ids[#ids + 1] = string.sub(packed, at, at + 15)
        members[#ids] = ids[#ids] .. body
        body_of[#ids] = body
    end
end
local flies = redis.call('SMISMEMBER', IN_FLIGHT, unpack(members))
local known = redis.call('HMGET', RUNS, unpack(ids))
local done = {}
for n, id in ipairs(ids) do
    -- A newer fence may wait by now: it stays.
    if flies[n] == 1 and known[n] == body_of[n] then
        done[#done + 1] = id
    end
end
redis.call('SREM', IN_FLIGHT, unpack(members))
if #done > 0 then
    redis.call('HDEL', RUNS, unpack(done))
end
