-- put_statuses: keep each status, unless a newer one is there.
-- KEYS    job_status:… of each job
-- ARGV    seconds to keep them; then for each key its value: three doubles that say how new it
--         is (fire, fence, step), then the body
local function is_newer(one, other)
    for at = 1, 24, 8 do
        local a, b = struct.unpack('>d', one, at), struct.unpack('>d', other, at)
        if a ~= b then
            return a > b
        end
    end
    return false
end

for n, key in ipairs(KEYS) do
    local value, known = ARGV[n + 1], redis.call('GET', key)
    if not (known and is_newer(known, value)) then
        redis.call('SET', key, value, 'EX', ARGV[1])
    end
end
