-- release: give partitions back, so that another member may take them.
-- KEYS[1] owners  hash    partition -> owner's mark
-- KEYS[2] changes stream  wakes the group's members
-- ARGV    for each partition: number, owner's mark
-- Returns how many were still the caller's. Safe to repeat.

local released = 0
for at = 1, #ARGV, 2 do
  if redis.call('HGET', KEYS[1], ARGV[at]) == ARGV[at + 1] then
    released = released + redis.call('HDEL', KEYS[1], ARGV[at])
  end
end
if released > 0 then
  redis.call('XADD', KEYS[2], 'MAXLEN', 1, '*', 'released', released)
end
return released
