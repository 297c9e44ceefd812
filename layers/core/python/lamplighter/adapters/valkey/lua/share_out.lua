-- share_out: how many of a pool's places each class gets; domain/ordering.py explains the rule.
-- waiting: runs that are due, for each class. Returns the places of each class.
local function share_out(pool, places, waiting, strides)
    local fields = { '0:' .. pool }
    for class = 1, #strides do
        fields[class + 1] = class .. ':' .. pool
    end
    local saved = redis.call('HMGET', PASSES, unpack(fields))
    local now, passes, given = tonumber(saved[1] or 0), {}, {}
    for class = 1, #strides do
        passes[class] = tonumber(saved[class + 1] or 0)
        given[class] = 0
        if waiting[class] > 0 then
            passes[class] = math.max(passes[class], now)
        end
    end
    while places > 0 do
        local chosen, hungry = nil, 0
        for class = 1, #strides do
            if given[class] < waiting[class] then
                hungry = hungry + 1
                if not chosen or passes[class] < passes[chosen] then
                    chosen = class
                end
            end
        end
        if not chosen then
            break
        end
        -- The last one left takes the rest in one step.
        local runs = hungry > 1 and 1 or math.min(places, waiting[chosen] - given[chosen])
        now = passes[chosen] + (runs - 1) * strides[chosen]
        passes[chosen] = now + strides[chosen]
        given[chosen] = given[chosen] + runs
        places = places - runs
    end
    local news = { fields[1], string.format('%.0f', now) }
    for class = 1, #strides do
        news[#news + 1] = fields[class + 1]
        news[#news + 1] = string.format('%.0f', passes[class])
    end
    redis.call('HSET', PASSES, unpack(news))
    return given
end
