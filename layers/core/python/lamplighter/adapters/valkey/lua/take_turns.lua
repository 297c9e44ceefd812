-- take_turns: pop runs of one class and pool; the tenants by turns, a tenant's runs by aged score.

-- How many runs of a lane are due. Remembers it for each job_queue.
local function count_due(lane, now)
    local depth = 0
    for _, queue in ipairs(lane.queues) do
        queue.depth = redis.call('ZCOUNT', queue.key, '-inf', queue.priority * LEVEL_MS + now)
        depth = depth + queue.depth
    end
    return depth
end

-- The tenants of a class in order of their turns, as many as there are places, with the number of
-- their runs that are due. Where there are no fewer tenants than places, one run each will do.
local function line_up(class, pool, places, now)
    local line = { key = TURNS .. ':' .. class .. ':' .. pool, class = class, pool = pool }
    line.lanes, line.depths, line.in_all = {}, {}, 0
    line.tenants = redis.call('ZRANGE', line.key, 0, places - 1)
    for n, tenant in ipairs(line.tenants) do
        local depth = 1
        if #line.tenants < places then
            line.lanes[n] = lane(class, pool, tenant)
            depth = count_due(line.lanes[n], now)
        end
        line.depths[n] = depth
        line.in_all = line.in_all + depth
    end
    return line
end

local function aged(due, priority, now)
    local rising_for = math.max(0, now - due - OVERDUE_MS)
    return priority * LEVEL_MS + due - math.floor(rising_for / RISE_MS) * LEVEL_MS
end

-- Look at the run that is now first in this job_queue. It counts only if it is due.
local function step(head, now)
    local score, priority = tonumber(head.found[head.at + 1]), head.queue.priority
    head.due = score and score - priority * LEVEL_MS
    head.urgency = head.due and head.due <= now and aged(head.due, priority, now)
end

-- The first runs of each job_queue, one more than wanted: that one tells when it is due next.
local function heads_of(lane, runs, now)
    local heads = {}
    for _, queue in ipairs(lane.queues) do
        local found = redis.call('ZRANGE', queue.key, 0, runs, 'WITHSCORES')
        if #found > 0 then
            local head = { queue = queue, found = found, at = 1 }
            step(head, now)
            heads[#heads + 1] = head
        end
    end
    return heads
end

-- Each job_queue of a lane is in order by itself, aged or not: only their heads are compared.
local function merge(lane, runs, now)
    local heads, popped = heads_of(lane, runs, now), {}
    while #popped < 2 * runs do
        local best
        for _, head in ipairs(heads) do
            if head.urgency and not (best and best.urgency <= head.urgency) then
                best = head
            end
        end
        if not best then
            break
        end
        popped[#popped + 1] = best.queue
        popped[#popped + 1] = best.found[best.at]
        best.at = best.at + 2
        step(best, now)
    end
    local due
    for _, head in ipairs(heads) do
        if head.at > 1 then
            redis.call('ZREMRANGEBYRANK', head.queue.key, 0, (head.at - 1) / 2 - 1)
        end
        if head.due then
            due = math.min(due or head.due, head.due)
        end
    end
    if not (due and due <= now) then
        leave_line(lane, due)
    end
    return popped
end

-- One priority only, and more runs than places: nothing to compare, and the lane stays in line.
local function slice(queue, runs)
    local popped = {}
    for n, member in ipairs(redis.call('ZRANGE', queue.key, 0, runs - 1)) do
        popped[2 * n - 1] = queue
        popped[2 * n] = member
    end
    redis.call('ZREMRANGEBYRANK', queue.key, 0, runs - 1)
    return popped
end

-- Returns pairs of a job_queue and a member of it, the most urgent first.
local function pop_lane(lane, runs, now)
    for _, queue in ipairs(lane.queues) do
        if queue.depth and queue.depth > 0 then
            local is_alone = true
            for _, other in ipairs(lane.queues) do
                is_alone = is_alone and (other == queue or other.depth == 0)
            end
            if is_alone and queue.depth > runs then
                return slice(queue, runs)
            end
        end
    end
    return merge(lane, runs, now)
end

-- Whose turn each place is: round after round, until the places or the runs are used up.
local function rounds(depths, places)
    local turns, quotas, active = {}, {}, {}
    for n in ipairs(depths) do
        quotas[n] = 0
        active[n] = n
    end
    while #active > 0 and #turns < places do
        local still = {}
        for _, n in ipairs(active) do
            if #turns == places then
                break
            end
            turns[#turns + 1] = n
            quotas[n] = quotas[n] + 1
            if quotas[n] < depths[n] then
                still[#still + 1] = n
            end
        end
        active = still
    end
    return turns, quotas
end

-- Appends pairs of a job_queue and a member of it to `popped`.
local function take_turns(line, places, now, popped)
    local turns, quotas = rounds(line.depths, places)
    local last, hands, dealt, served = last_turn(line.key), {}, {}, {}
    for place, n in ipairs(turns) do
        if not hands[n] then
            local lane = line.lanes[n] or lane(line.class, line.pool, line.tenants[n])
            hands[n] = pop_lane(lane, quotas[n], now)
        end
        dealt[n] = (dealt[n] or 0) + 2
        popped[#popped + 1] = hands[n][dealt[n] - 1]
        popped[#popped + 1] = hands[n][dealt[n]]
        served[n] = last + place
    end
    local again = {}
    for n, turn in pairs(served) do
        again[#again + 1] = turn
        again[#again + 1] = line.tenants[n]
    end
    -- XX: a lane that has nothing due has left. The others queue up behind the last one.
    redis.call('ZADD', line.key, 'XX', unpack(again))
end

-- All that is due of tenants of whom little is, in order of their turns. Returns how many runs.
local function take_little(class, pool, kept, most_lanes, now, popped)
    local taken = 0
    local tenants = redis.call('ZRANGE', TURNS .. ':' .. class .. ':' .. pool, 0, most_lanes - 1)
    for _, tenant in ipairs(tenants) do
        local small = lane(class, pool, tenant)
        local due = count_due(small, now)
        if due <= math.min(LITTLE, kept - taken) then
            for _, part in ipairs(merge(small, due, now)) do
                popped[#popped + 1] = part
            end
            taken = taken + due
        end
    end
    return taken
end
