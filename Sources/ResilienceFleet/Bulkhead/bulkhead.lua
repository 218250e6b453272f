-- The permits that a fleet has together, and how they are divided: each member gets what it wants if that is there for
-- all, and else an equal part of what those that want less have left (max-min fairness).
--
-- A hash holds for each member, under `m:`, the permits that it has, what it needs, what it wants, until when it has
-- them and for how long, on the engine's clock in microseconds, and the number of its last question. A member never gets what
-- another one still has, and a question that comes after a later one changes nothing.

local key, me = KEYS[1], ARGV[1]
local limit, need, spare = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local held, valid, number = tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7])
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]

local mine = redis.call('HGET', key, 'm:' .. me)
if mine and tonumber(string.match(mine, '%S+$')) > number then return {0, 1} end
local wants, others, alive, lacking, old = {}, 0, 1, false, {}
local fields = redis.call('HGETALL', key)
for i = 1, #fields, 2 do
    if fields[i] ~= 'm:' .. me then
        local rest, ends, valid_, last = string.match(fields[i + 1], '(%S+ %S+ %S+) (%S+) (%S+) (%S+)')
        local has, needs, wants_ = string.match(rest, '(%S+) (%S+) (%S+)')
        ends = tonumber(ends)
        -- The clock was set back. Its owner may have the part for as long as it may have had then, at most.
        if ends - now > tonumber(valid_) then
            ends = now + valid_
            redis.call('HSET', key, fields[i], rest .. string.format(' %.0f %s %s', ends, valid_, last))
        end
        if ends <= now then
            old[#old + 1] = fields[i]
        else
            alive = alive + 1
            others = others + tonumber(has)
            wants[#wants + 1] = tonumber(wants_)
            lacking = lacking or tonumber(needs) > tonumber(has)
        end
    end
end
for i = 1, math.min(#old, 100) do redis.call('HDEL', key, old[i]) end

-- What nobody needs yet waits until nobody lacks any, but for one for each.
local wanted = need
if not lacking then
    wanted = need + spare
elseif need == 0 and spare > 0 and alive <= limit then
    wanted = 1
end
wants[#wants + 1] = wanted
-- The level up to which all get what they want, found from below.
table.sort(wants)
local left, share = limit, 0
for i = 1, #wants do
    share = left / (#wants - i + 1)
    if wants[i] < share then left = left - wants[i] else break end
end
local granted = wanted < share and wanted or math.floor(share)
-- What does not divide evenly goes to whoever comes first.
if granted < wanted and granted < share then granted = granted + 1 end
granted = math.max(0, math.min(wanted, granted, limit - others))
-- What it has given up is free once it says so: it may be in use until it has read this, or for longer.
local has = math.max(granted, held)
local entry = string.format('%.0f %.0f %.0f %.0f %.0f %.0f', has, need, wanted, now + valid, valid, number)
redis.call('HSET', key, 'm:' .. me, entry)
redis.call('PEXPIRE', key, string.format('%.0f', math.ceil(valid / 1000) + 60000))
return {granted, alive}
