-- add: let runs wait for their time; wake the leader if one comes before all the others.
-- with: keys, guard, lanes
-- ARGV    epoch, or nothing from one who does not lead; then pairs of a body and the runs that
--         have it, 24 bytes each: score as a double, run id
-- Safe to repeat: a known run with this fence or a later one stays where it is.
local refused = ARGV[1] ~= '' and guard(tonumber(ARGV[1]))
if refused then
    return refused
end
if redis.call('EXISTS', SENTINEL) == 0 then
    return redis.error_reply('EMPTIED the sentinel is missing')
end

local ids, scores, body_of = {}, {}, {}
for i = 2, #ARGV, 2 do
    for at = 1, #ARGV[i + 1], 24 do
        scores[#scores + 1] = struct.unpack('>d', ARGV[i + 1], at)
        ids[#ids + 1] = string.sub(ARGV[i + 1], at + 8, at + 23)
        body_of[#ids] = ARGV[i]
    end
end

local batches, runs, added, pulled = {}, {}, {}, {}

-- An older fence makes room for a newer one, unless it is in flight: that one is published.
local function is_news(id, known, body)
    if not known then
        return true
    end
    if known == body or tonumber(read(known).fence) >= tonumber(read(body).fence) then
        return false
    end
    if pull(id, known) then
        pulled[#pulled + 1] = known
    end
    return true
end

-- A body's runs go into their job_queue together.
local function flush(body)
    local batch = batches[body]
    if batch then
        redis.call('ZADD', read(body).queue.key, unpack(batch))
        batches[body] = nil
    end
end

for n, known in ipairs(redis.call('HMGET', RUNS, unpack(ids))) do
    local id, body = ids[n], body_of[n]
    if added[id] then
        flush(added[id]) -- the batch has this run twice; the newer of the two counts
    end
    if is_news(id, added[id] or known, body) then
        batches[body] = batches[body] or {}
        table.insert(batches[body], scores[n])
        table.insert(batches[body], id .. read(body).fence)
        runs[#runs + 1] = id
        runs[#runs + 1] = body
        added[id] = body
    end
end
if #runs == 0 then
    return
end
redis.call('HSET', RUNS, unpack(runs))

local soonest = tonumber(redis.call('ZRANGE', WAITING, 0, 0, 'WITHSCORES')[2]) or math.huge
local is_sooner = false
for i = 2, #ARGV, 2 do
    flush(ARGV[i])
end
settle(pulled)
for i = 2, #ARGV, 2 do
    local said = read(ARGV[i])
    local due = head_due(said.queue)
    if due and not redis.call('ZSCORE', turns_of(said.lane), said.lane.tenant) then
        redis.call('ZADD', WAITING, 'LT', due, name_of(said.lane))
        is_sooner = is_sooner or due < soonest
    end
end
if is_sooner then
    redis.call('PUBLISH', WAKE, '')
end
