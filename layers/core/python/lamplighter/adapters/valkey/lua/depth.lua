-- depth: how many due runs of each tenant stand in line in one class and pool, a page at a time.
-- with: keys, lanes
-- ARGV    class, pool, now in ms, offset, how many tenants
-- returns tenant, runs, tenant, runs …
local class, pool, now = tonumber(ARGV[1]), ARGV[2], tonumber(ARGV[3])
local turns, answer = TURNS .. ':' .. class .. ':' .. pool, {}
for _, tenant in ipairs(redis.call('ZRANGE', turns, ARGV[4], ARGV[4] + ARGV[5] - 1)) do
    local runs = 0
    for _, queue in ipairs(lane(class, pool, tenant).queues) do
        runs = runs + redis.call('ZCOUNT', queue.key, '-inf', queue.priority * LEVEL_MS + now)
    end
    answer[#answer + 1] = tenant
    answer[#answer + 1] = runs
end
return answer
