-- attend: a member says that it lives, and learns which partitions of one topic are its own.
-- KEYS[1] members   zset    member -> until when it counts as alive, ms
-- KEYS[2] owners    hash    partition -> '<member> <when it was taken, us> <the server's run>'
-- KEYS[3] committed hash    '<partition>|<group>' -> offset after the last message it is done with
-- KEYS[4] groups    set     every group that reads this topic; nothing is trimmed before it has it
-- KEYS[5] changes   stream  wakes the group's members when partitions are to be moved
-- ARGV    group, member, session ms, partitions, turn (who of them gets what does not divide evenly)
-- Returns the surplus (how many partitions to give up, when they are at rest), then for each
-- partition of this member: number, owner's mark, committed offset.
-- A partition that lives with another is never taken; what changes hands gets a new mark. So does
-- what was taken before the server's last start: its last second may be lost, offsets are given out
-- anew, and whoever has read further must begin again where the server stands.

local group, member = ARGV[1], ARGV[2]
local session, partitions, turn = tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local run = string.match(redis.call('INFO', 'server'), 'run_id:(%w+)')

local dead = redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
local joined = redis.call('ZADD', KEYS[1], now + session, member)
redis.call('SADD', KEYS[4], group)

local alive = redis.call('ZRANGE', KEYS[1], 0, -1)
table.sort(alive)
local rank = {}
for index, name in ipairs(alive) do
  rank[name] = (index - 1 + turn) % #alive
end
local share = math.floor(partitions / #alive)
if rank[member] < partitions % #alive then
  share = share + 1
end

local owners = {}
local flat = redis.call('HGETALL', KEYS[2])
for at = 1, #flat, 2 do
  owners[flat[at]] = flat[at + 1]
end

local taken = 0
local function take(partition)
  owners[partition] = member .. ' ' .. clock[1] .. string.format('%06d', clock[2]) .. ' ' .. run
  redis.call('HSET', KEYS[2], partition, owners[partition])
  taken = taken + 1
end

local mine, free = {}, {}
for number = 0, partitions - 1 do
  local partition = tostring(number)
  local mark = owners[partition]
  local owner, of_run = string.match(mark or '', '^(%S+) %S+ (%S+)')
  if owner == member then
    table.insert(mine, partition)
    if of_run ~= run then
      take(partition)
    end
  elseif not owner or not rank[owner] then
    table.insert(free, partition)
  end
end

while #mine < share and #free > 0 do
  local partition = table.remove(free, 1)
  take(partition)
  table.insert(mine, partition)
end

if dead + joined + taken > 0 then
  redis.call('XADD', KEYS[5], 'MAXLEN', 1, '*', 'by', member)
end

local answer = { math.max(0, #mine - share) }
for _, partition in ipairs(mine) do
  table.insert(answer, tonumber(partition))
  table.insert(answer, owners[partition])
  local committed = redis.call('HGET', KEYS[3], partition .. '|' .. group)
  table.insert(answer, tonumber(committed or 0))
end
return answer
