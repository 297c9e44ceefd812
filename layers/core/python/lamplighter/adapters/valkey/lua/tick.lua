-- tick: let what is due join the line, then pop up to the free places of each pool.
-- with: keys, guard, lanes, join_line, share_out, take_turns
-- ARGV    epoch, now in ms, most lanes to join, most lanes to serve, most runs to pop,
--         the strides of P1 … P4, then threes: a pool, its free places, and those beyond them
--         that are kept for tenants of whom little is due
-- returns 1 if the limits cut it short; 1 if runs are left without a place; when the next lane
--         is due, or nothing; bodies; the runs as one string, most urgent first, 18 bytes each:
--         the number of its body, counted from 0, and its run id
local refused = guard(tonumber(ARGV[1]))
if refused then
    return refused
end
-- Two leaders' clocks may differ. This one never goes back: who has a turn has something due.
local last = tonumber(redis.call('HGET', SENTINEL, 'now') or 0)
local now, most_joins = math.max(last, ARGV[2]), tonumber(ARGV[3])
local lanes_left, places_left = tonumber(ARGV[4]), tonumber(ARGV[5])
local strides = { tonumber(ARGV[6]), tonumber(ARGV[7]), tonumber(ARGV[8]), tonumber(ARGV[9]) }

local joined = join_line(now, most_joins)
local is_cut, is_short, popped = joined == most_joins, false, {}

local function lanes_in_line(pool)
    local lanes = 0
    for class = 1, #strides do
        lanes = lanes + redis.call('ZCARD', TURNS .. ':' .. class .. ':' .. pool)
    end
    return lanes
end

local function serve(pool, places)
    local lines, waiting = {}, {}
    for class = 1, #strides do
        lines[class] = line_up(class, pool, places, now)
        waiting[class] = lines[class].in_all
    end
    for class, runs in ipairs(share_out(pool, places, waiting, strides)) do
        if runs > 0 then
            take_turns(lines[class], runs, now, popped)
        end
    end
end

-- Only where the free places are used up: until then everybody gets a turn.
local function serve_small(pool, kept, most_lanes)
    for class = 1, #strides do
        kept = kept - take_little(class, pool, kept, most_lanes, now, popped)
    end
end

for i = 10, #ARGV, 3 do
    local pool, free, pools_left = ARGV[i], tonumber(ARGV[i + 1]), (#ARGV - i + 1) / 3
    -- What is left is divided over the pools that are left: none of them can use up a limit.
    local most = math.ceil(places_left / pools_left)
    local places = math.min(free, most)
    local most_lanes = math.ceil(lanes_left / pools_left)
    local lanes, before = lanes_in_line(pool), #popped
    if lanes > most_lanes then
        places = math.min(places, most_lanes)
    end
    local kept = places == free and math.min(ARGV[i + 2], most - places) or 0
    if lanes > 0 and places + kept > 0 then
        if places > 0 then
            serve(pool, places)
        end
        if kept > 0 then
            serve_small(pool, kept, most_lanes)
        end
        places_left = places_left - (#popped - before) / 2
        lanes_left = lanes_left - math.min(lanes, most_lanes)
        lanes = lanes_in_line(pool)
    end
    is_cut = is_cut or (lanes > 0 and places < free)
    is_short = is_short or lanes > 0
end

-- In flight with all that publishing needs, and numbered bodies for the answer.
local function fly()
    local bodies, answer, members = {}, {}, {}
    for at = 1, #popped, 2 do
        local queue, member = popped[at], popped[at + 1]
        local id, fence = string.sub(member, 1, 16), string.sub(member, 17)
        local known = queue[fence]
        if not known then
            local suffix = string.sub(queue.key, #JOB_QUEUE + 1)
            known = { body = fence .. suffix, number = struct.pack('>I2', #bodies) }
            bodies[#bodies + 1] = known.body
            queue[fence] = known
        end
        answer[#answer + 1] = known.number
        answer[#answer + 1] = id
        members[#members + 1] = id .. known.body
    end
    if #members > 0 then
        redis.call('SADD', IN_FLIGHT, unpack(members))
    end
    return bodies, table.concat(answer)
end

local bodies, runs = fly()
if joined > 0 or #popped > 0 then
    redis.call('HSET', SENTINEL, 'now', string.format('%.0f', now))
end
local head = redis.call('ZRANGE', WAITING, 0, 0, 'WITHSCORES')
return { is_cut and 1 or 0, is_short and 1 or 0, head[2] or false, bodies, runs }
