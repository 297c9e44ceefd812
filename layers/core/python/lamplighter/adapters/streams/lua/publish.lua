-- publish: append one batch to each of several partitions, all of them or none.
-- KEYS[1]        seen  string  there once this shipment is in
-- KEYS[2], [4] … ends  hash    partition -> offset after its last message; '<n>:low' -> oldest kept
-- KEYS[3], [5] … log   stream  id 0-<offset after its last message>, fields t (ms) and b (batch)
-- ARGV[1]        how long a publisher may repeat itself, ms
-- ARGV           then for each partition: number, count of messages, retention ms, batch
-- Returns 1, or 0 for a repetition, which changes nothing.

if not redis.call('SET', KEYS[1], '', 'NX', 'PX', ARGV[1]) then
  return 0
end

local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)

-- What no group has come to fetch in all that time. A bounded number: this is a publisher's time.
local function expire(ends, log, partition, before)
  for _ = 1, 100 do
    local oldest = redis.call('XRANGE', log, '-', '+', 'COUNT', 1)[1]
    if not oldest or tonumber(oldest[2][2]) >= before then
      return
    end
    local low = tonumber(string.sub(oldest[1], 3))
    redis.call('XTRIM', log, 'MINID', '0-' .. (low + 1))
    redis.call('HSET', ends, partition .. ':low', low)
  end
end

for pair = 1, (#KEYS - 1) / 2 do
  local ends, log = KEYS[2 * pair], KEYS[2 * pair + 1]
  local first = 4 * (pair - 1) + 2
  local partition, count = ARGV[first], tonumber(ARGV[first + 1])
  local last = redis.call('HINCRBY', ends, partition, count)
  redis.call('XADD', log, '0-' .. last, 't', now, 'b', ARGV[first + 3])
  -- Looking at the oldest copies it: once in 64 messages is often enough.
  if math.floor(last / 64) ~= math.floor((last - count) / 64) then
    expire(ends, log, partition, now - tonumber(ARGV[first + 2]))
  end
end
return 1
