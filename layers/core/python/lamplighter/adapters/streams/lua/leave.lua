-- leave: a member goes, and all its partitions of one topic are free at once.
-- KEYS[1] members zset    member -> until when it counts as alive, ms
-- KEYS[2] owners  hash    partition -> owner's mark, which begins with the member
-- KEYS[3] changes stream  wakes the group's members
-- ARGV    member
-- Safe to repeat.

local flat = redis.call('HGETALL', KEYS[2])
for at = 1, #flat, 2 do
  if string.match(flat[at + 1], '^(%S+)') == ARGV[1] then
    redis.call('HDEL', KEYS[2], flat[at])
  end
end
redis.call('ZREM', KEYS[1], ARGV[1])
redis.call('XADD', KEYS[3], 'MAXLEN', 1, '*', 'left', ARGV[1])
return 1
