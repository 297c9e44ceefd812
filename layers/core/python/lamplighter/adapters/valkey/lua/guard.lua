-- guard: an error for a leader of the past, or for one that this store does not know (any more).
local function guard(epoch)
    local known = tonumber(redis.call('HGET', SENTINEL, 'epoch'))
    if not known or epoch > known then
        return redis.error_reply('EMPTIED the sentinel of this epoch is missing')
    end
    if epoch < known then
        return redis.error_reply('STALE epoch ' .. known .. ' has begun')
    end
end
