-- join_line: lanes that have a run due by now get their turn, behind all those who have one.

local function last_turn(turns)
    return tonumber(redis.call('ZRANGE', turns, -1, -1, 'WITHSCORES')[2]) or 0
end

-- Returns how many lanes, `limit` at most. Nothing is done per run: a lane of a million is one.
local function join_line(now, limit)
    local due = redis.call('ZRANGE', WAITING, '-inf', now, 'BYSCORE', 'LIMIT', 0, limit)
    local newcomers, order = {}, {}
    for _, name in ipairs(due) do
        local class, pool, tenant = string.match(name, '^(%d+):([^:]*):(.*)$')
        local turns = TURNS .. ':' .. class .. ':' .. pool
        if not newcomers[turns] then
            newcomers[turns] = { last = last_turn(turns) }
            order[#order + 1] = turns
            redis.call('SADD', POOLS, pool)
        end
        local those = newcomers[turns]
        those[#those + 1] = those.last + #those / 2 + 1
        those[#those + 1] = tenant
    end
    for _, turns in ipairs(order) do
        redis.call('ZADD', turns, unpack(newcomers[turns]))
    end
    if #due > 0 then
        redis.call('ZREMRANGEBYRANK', WAITING, 0, #due - 1)
    end
    return #due
end
