-- begin_rest: let the ledger rest, unless somebody has said since the mark that it may not.
-- KEYS[1] rest   string  a mark while somebody looks; then until when, ms
-- ARGV    mark, until in ms
-- returns 1 if it rests. Safe to repeat.
local known = redis.call('GET', KEYS[1])
if known ~= ARGV[1] and known ~= ARGV[2] then
    return 0
end
redis.call('SET', KEYS[1], ARGV[2], 'PXAT', ARGV[2])
return 1
