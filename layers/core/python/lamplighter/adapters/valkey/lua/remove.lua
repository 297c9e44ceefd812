-- remove: forget runs that wait, for their time or for a place. What is in flight stays.
-- with: keys, lanes
-- ARGV    run ids, 16 bytes each, in one string
-- returns how many were removed
local ids = {}
for at = 1, #ARGV[1], 16 do
    ids[#ids + 1] = string.sub(ARGV[1], at, at + 15)
end
local removed, pulled = {}, {}
for n, body in ipairs(redis.call('HMGET', RUNS, unpack(ids))) do
    if body and pull(ids[n], body) then
        removed[#removed + 1] = ids[n]
        pulled[#pulled + 1] = body
    end
end
if #removed > 0 then
    redis.call('HDEL', RUNS, unpack(removed))
    settle(pulled)
end
return #removed
