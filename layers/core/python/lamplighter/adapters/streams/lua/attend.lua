-- attend: a member says that it lives, and learns which partitions of its topics are its own.
-- KEYS[1] changes   stream  wakes the group's members when partitions are to be moved
-- and for each topic
--         members   zset    member -> until when it counts as alive, ms
--         owners    hash    partition -> '<member> <when it was taken, us> <the server's run>'
--         committed hash    '<partition>|<group>' -> offset after the last message it is done with
--         groups    set     every group that reads this topic; nothing is trimmed before it has it
-- ARGV    group, member, session ms; and for each topic
--         partitions, turn (who of them gets what does not divide evenly)
-- Returns for each topic the surplus (how many partitions to give up, when they are at rest), then
-- for each partition of this member: number, owner's mark, committed offset.
-- A partition that lives with another is never taken; what changes hands gets a new mark. So does
-- what was taken before the server's last start: its last second may be lost, offsets are given out
-- anew, and whoever has read further must begin again where the server stands.

local group, member, session = ARGV[1], ARGV[2], tonumber(ARGV[3])
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local run = string.match(redis.call('INFO', 'server'), 'run_id:(%w+)')
local changes = 0

-- Who of the living is the how-manieth, and how many partitions this member may have.
local function shares(members, partitions, turn)
  local alive = redis.call('ZRANGE', members, 0, -1)
  table.sort(alive)
  local rank = {}
  for index, name in ipairs(alive) do
    rank[name] = (index - 1 + turn) % #alive
  end
  local share = math.floor(partitions / #alive)
  if rank[member] < partitions % #alive then
    share = share + 1
  end
  return rank, share
end

local function attend(members, owned, committed, groups, partitions, turn)
  local dead = redis.call('ZREMRANGEBYSCORE', members, '-inf', now)
  local joined = redis.call('ZADD', members, now + session, member)
  redis.call('SADD', groups, group)
  local rank, share = shares(members, partitions, turn)

  local owners = {}
  local flat = redis.call('HGETALL', owned)
  for at = 1, #flat, 2 do
    owners[flat[at]] = flat[at + 1]
  end

  local taken = 0
  local function take(partition)
    owners[partition] = member .. ' ' .. clock[1] .. string.format('%06d', clock[2]) .. ' ' .. run
    redis.call('HSET', owned, partition, owners[partition])
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
  changes = changes + dead + joined + taken

  local answer = { math.max(0, #mine - share) }
  if #mine > 0 then
    local fields = {}
    for at, partition in ipairs(mine) do
      fields[at] = partition .. '|' .. group
    end
    local done = redis.call('HMGET', committed, unpack(fields))
    for at, partition in ipairs(mine) do
      table.insert(answer, tonumber(partition))
      table.insert(answer, owners[partition])
      table.insert(answer, tonumber(done[at] or 0))
    end
  end
  return answer
end

local answers = {}
for topic = 1, (#KEYS - 1) / 4 do
  local key, argument = 4 * topic - 2, 2 * topic + 2
  local partitions, turn = tonumber(ARGV[argument]), tonumber(ARGV[argument + 1])
  answers[topic] = attend(KEYS[key], KEYS[key + 1], KEYS[key + 2], KEYS[key + 3], partitions, turn)
end

if changes > 0 then
  redis.call('XADD', KEYS[1], 'MAXLEN', 1, '*', 'by', member)
end
return answers
