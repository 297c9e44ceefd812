-- lanes: a lane is the runs of one class, pool and tenant, in one job_queue for each priority.
-- It has a turn while a run of it is due, and waits while none is; without runs it is nowhere.

local PRIORITIES_OF = {}
for priority, class in ipairs(CLASS_OF) do
    PRIORITIES_OF[class] = PRIORITIES_OF[class] or {}
    table.insert(PRIORITIES_OF[class], priority)
end

local function lane(class, pool, tenant)
    local whose, queues = ':' .. pool .. ':' .. tenant, {}
    for n, priority in ipairs(PRIORITIES_OF[class]) do
        queues[n] = { priority = priority, key = JOB_QUEUE .. ':' .. priority .. whose }
    end
    return { class = class, pool = pool, tenant = tenant, queues = queues }
end

local function turns_of(lane)
    return TURNS .. ':' .. lane.class .. ':' .. lane.pool
end

local function name_of(lane)
    return lane.class .. ':' .. lane.pool .. ':' .. lane.tenant
end

local bodies = {}

-- What a body says. Most runs of a batch have the same one: it is read once.
local function read(body)
    local said = bodies[body]
    if not said then
        local fence, priority, pool, tenant = string.match(body, '^(%d+):(%d+):([^:]*):(.*)$')
        said = { fence = fence, lane = lane(CLASS_OF[tonumber(priority)], pool, tenant) }
        for _, queue in ipairs(said.lane.queues) do
            said.queue = queue.priority == tonumber(priority) and queue or said.queue
        end
        bodies[body] = said
    end
    return said
end

-- When the head of a job_queue is due; nil if it is empty.
local function head_due(queue)
    local score = redis.call('ZRANGE', queue.key, 0, 0, 'WITHSCORES')[2]
    return score and score - queue.priority * LEVEL_MS
end

-- Nothing of this lane is due (any more). `due`: when its next run is, if it has one.
local function leave_line(lane, due)
    redis.call('ZREM', turns_of(lane), lane.tenant)
    if due then
        redis.call('ZADD', WAITING, due, name_of(lane))
    else
        redis.call('ZREM', WAITING, name_of(lane))
    end
end

-- Take a run out of its job_queue; `settle` has to follow. False if it is in flight.
local function pull(id, body)
    local said = read(body)
    return redis.call('ZREM', said.queue.key, id .. said.fence) == 1
end

-- After runs were pulled: put their lanes where they belong.
local function settle(pulled)
    local now, seen = tonumber(redis.call('HGET', SENTINEL, 'now') or 0), {}
    for _, body in ipairs(pulled) do
        local lane, due = read(body).lane, nil
        if not seen[name_of(lane)] then
            seen[name_of(lane)] = true
            for _, queue in ipairs(lane.queues) do
                due = math.min(due or math.huge, head_due(queue) or math.huge)
            end
            due = due < math.huge and due or nil
            local is_due = due and due <= now
            if not (is_due and redis.call('ZSCORE', turns_of(lane), lane.tenant)) then
                leave_line(lane, due)
            end
        end
    end
end
