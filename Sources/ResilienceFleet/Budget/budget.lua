-- The tokens of a retry budget that a fleet has together: a full budget at first, and what successes bring back.
--
-- A hash holds those that nobody has, as `level`, and for each member, under `m:`, when it asked last, on the engine's clock
-- in microseconds, and the tokens that it had then. They come back when it leaves, or has not asked for long.

local key, me = KEYS[1], ARGV[1]
local capacity, earned, wanted = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local least, forget, held = tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7])
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]

local level = math.min(tonumber(redis.call('HGET', key, 'level') or '') or capacity, capacity)
local alive, gone, back = 1, 0, 0
local fields = redis.call('HGETALL', key)
for i = 1, #fields, 2 do
    if string.sub(fields[i], 1, 2) == 'm:' then
        local seen, has = string.match(fields[i + 1], '(%S+) (%S+)')
        seen = tonumber(seen)
        -- The clock was set back.
        if seen > now then redis.call('HSET', key, fields[i], string.format('%.0f %s', now, has)) end
        local leaves = fields[i] == 'm:' .. me and held < 0
        if leaves or fields[i] ~= 'm:' .. me and now - seen > forget and gone < 100 then
            redis.call('HDEL', key, fields[i])
            gone, back = gone + 1, back + has
        elseif fields[i] ~= 'm:' .. me and now - seen <= forget then
            alive = alive + 1
        end
    end
end
level = math.min(capacity, level + earned + back)
-- Nobody takes all that others may need, but a retry can always be paid for.
local granted = math.min(wanted, level, math.max(least, math.floor(level / (alive + 1))))
level = level - granted
if held >= 0 then redis.call('HSET', key, 'm:' .. me, string.format('%.0f %.0f', now, held + granted)) end
redis.call('HSET', key, 'level', string.format('%.0f', level))
redis.call('PEXPIRE', key, string.format('%.0f', math.ceil(forget / 1000) + 3600000))
return {granted, level, alive}
