-- The circuit that a fleet has together: what each member has seen, and what follows for all.
--
-- A hash holds it, on the engine's clock, in microseconds:
--
-- - `m:` and a member: the calls and failures of its window, when it told them, and whether its own circuit is open. They
--   are told anew each time, so an answer that is lost changes nothing.
-- - `until`: the end of the break; there is none while the circuit is closed. `trips`: the number of breaks in a row.
-- - `probe`, `probe_ends`: the member that may probe after the break, and until when.
-- - `epoch`: counts the changes of state. What is told of an earlier one decides nothing.

local key, me = KEYS[1], ARGV[1]
local calls, failures, window = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local ratio, minimum, share = tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7])
local open_for, lease = tonumber(ARGV[8]), tonumber(ARGV[9])
local wants_probe, result, told = ARGV[10], ARGV[11], tonumber(ARGV[12])
local is_open, expected = ARGV[13], tonumber(ARGV[14])
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]

local values = redis.call('HMGET', key, 'epoch', 'until', 'trips', 'probe', 'probe_ends', 'length')
local epoch, trips = tonumber(values[1] or '') or 0, tonumber(values[3] or '') or 0
local ends, probe = tonumber(values[2] or ''), values[4]
local probe_ends, length = tonumber(values[5] or '') or 0, tonumber(values[6] or '') or 0
-- The clock was set back.
if ends and ends - now > length then ends = now + length end
if probe and (probe_ends <= now or probe_ends - now > 60 * lease) then probe = false end

local function open()
    ends, length, trips, epoch, probe = now + open_for, open_for, trips + 1, epoch + 1, false
end

local alive, fresh = 1, told == epoch
-- Also of a member that found out by itself, since nobody probed.
if fresh and result ~= '' and (probe == me or not probe and ends and now >= ends) then
    if result == 'well' then
        ends, trips, epoch, probe = nil, 0, epoch + 1, false
        -- What was seen before says nothing any more.
        redis.call('DEL', key)
        calls, failures, is_open = 0, 0, '0'
    elseif result == 'failing' then
        open()
    else
        probe = false
    end
end

if not fresh then calls, failures, is_open = 0, 0, '0' end
redis.call('HSET', key, 'm:' .. me, string.format('%.0f %.0f %.0f %s', calls, failures, now, is_open))
local all, failed, bad, opened = 0, 0, 0, 0
local old = {}
local fields = redis.call('HGETALL', key)
for i = 1, #fields, 2 do
    if string.sub(fields[i], 1, 2) == 'm:' then
        local c, f, seen, o = string.match(fields[i + 1], '(%S+) (%S+) (%S+) (%S+)')
        c, f, seen = tonumber(c), tonumber(f), tonumber(seen)
        -- The clock was set back.
        if seen > now then redis.call('HSET', key, fields[i], string.format('%.0f %.0f %.0f %s', c, f, now, o)) end
        if now - seen > window then
            old[#old + 1] = fields[i]
        else
            if fields[i] ~= 'm:' .. me then alive = alive + 1 end
            all, failed = all + c, failed + f
            if c > 0 and f / c >= ratio then bad = bad + 1 end
            if o == '1' then opened = opened + 1 end
        end
    end
end
for i = 1, math.min(#old, 100) do redis.call('HDEL', key, old[i]) end
local few = share * math.max(alive, expected)
local counted = all >= minimum and failed >= ratio * all and bad > few
if not ends and (counted or opened > few) then open() end

local state, wait = 0, 0
if ends and now < ends then
    state, wait = 1, ends - now
elseif ends then
    if not probe and wants_probe == '1' then probe = me end
    if probe == me then
        state, probe_ends = 2, now + 20 * lease
    else
        state = 1
        if probe then wait = math.min(probe_ends - now, lease) end
    end
end

local function text(number) return string.format('%.0f', number) end
redis.call('HSET', key, 'epoch', text(epoch), 'trips', text(trips), 'length', text(length))
if ends then redis.call('HSET', key, 'until', text(ends)) else redis.call('HDEL', key, 'until') end
if probe then
    redis.call('HSET', key, 'probe', probe, 'probe_ends', text(probe_ends))
else
    redis.call('HDEL', key, 'probe', 'probe_ends')
end
local rest = math.max(2 * window, ends and ends - now or 0) + 60000000
redis.call('PEXPIRE', key, text(math.min(math.ceil(rest / 1000), 2592000000)))
return {state, math.ceil(wait), epoch, trips, alive}
