-- commit: a group is done with the messages before these offsets; what all groups are done with goes.
-- KEYS[1] owners    hash    partition -> owner's mark
-- KEYS[2] committed hash    '<partition>|<group>' -> offset after the last message it is done with
-- KEYS[3] groups    set     every group that reads this topic
-- KEYS[4] … log     stream  one for each partition named in ARGV, in that order
-- ARGV    group, then for each partition: number, owner's mark, offset
-- Returns how many counted: a partition that went to another counts no more, nor one that was read
-- before the server's last start; and none goes back.

local run = string.match(redis.call('INFO', 'server'), 'run_id:(%w+)')

local function slowest(partition)
  local least
  for _, group in ipairs(redis.call('SMEMBERS', KEYS[3])) do
    local at = tonumber(redis.call('HGET', KEYS[2], partition .. '|' .. group) or 0)
    least = math.min(least or at, at)
  end
  return least or 0
end

local counted = 0
for index = 4, #KEYS do
  local first = 3 * (index - 4) + 2
  local partition, mark, offset = ARGV[first], ARGV[first + 1], tonumber(ARGV[first + 2])
  local of_run = string.match(mark, '(%S+)$')
  if of_run == run and redis.call('HGET', KEYS[1], partition) == mark then
    counted = counted + 1
    local field = partition .. '|' .. ARGV[1]
    if offset > tonumber(redis.call('HGET', KEYS[2], field) or 0) then
      redis.call('HSET', KEYS[2], field, offset)
      redis.call('XTRIM', KEYS[index], 'MINID', '0-' .. (slowest(partition) + 1))
    end
  end
end
return counted
