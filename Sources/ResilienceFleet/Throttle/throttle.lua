-- The state of a limit that a fleet keeps together, and the one step that changes it, which runs in the engine.
--
-- A hash holds the state, on the engine's clock, in microseconds:
--
-- - `level`, `time`: the permits that are free, and since when that is known. A rate's bucket is GCRA's, written as
--   what is in it: what a member takes and gives back are whole permits. A fixed window begins at a multiple of its
--   length since 1970. A sliding window counts in slices of a fiftieth, `w`, its name and their number, and a permit stays in it
--   until the last instant at which it may be used has left it: never more calls than the limit go in any period.
-- - `mark`, `due`: the fair shares. Of each permit that becomes free, every hungry member is due an equal part, up to
--   its part of a full bucket. `mark` is what each was due since the beginning; a member's own mark, what it got. A
--   member gets more than it is due only from what the others are not due: max-min fairness, as in start-time fair
--   queueing (Goyal, Vin, Cheng, 1996).
-- - `m:` and a member: its mark, when it was seen, and whether it got less than it wanted. `alive`, `hungry` and `due`
--   sum these up; they are counted anew at most twice in a lease, so that the cost of a step does not grow with the
--   fleet.
-- - Each limit of the same calls has fields of its own, with its name at the end: its kind, and a window's length. So
--   members with different lists, as in a rolling deployment, share what both have, and leave the others alone. A
--   member's field has its mark and its hunger at each. A rate's `lot` is the time of its level. What is granted is what
--   each of them grants. A member is hungry at those that refused it.
-- - `epoch`: counts the holds and their ends. A smaller number than before tells that the engine has lost what it knew.
-- - `held`, `length`, `holds`: until when the gate is shut, how long that was, and the number of holds in a row.
--   `probe`, `probe_ends`: the member whose call is to probe, and until when that is its right. `opened`: when the gate
--   has opened last, for the ramp.

local key, me = KEYS[1], ARGV[1]
local ramp, lease, forget = tonumber(ARGV[6]), tonumber(ARGV[7]), tonumber(ARGV[8])
local wanted, returned, returned_lot = tonumber(ARGV[9]), tonumber(ARGV[10]), tonumber(ARGV[11])
local hold, counts, probe_end, wants_probe = tonumber(ARGV[12]), ARGV[13], ARGV[14], ARGV[15]
local reset = ARGV[16] == '1'
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]

-- What the limits share, and what each has.
local names = {'time', 'alive', 'counted', 'held', 'length', 'holds', 'probe_ends', 'opened', 'epoch', 'probe', 'm:' .. me}
local shared, limits, slice = #names, {}, nil
for i = 1, 1 + math.floor((#ARGV - 16) / 4) do
    local at = i == 1 and 2 or 9 + 4 * i
    local l = {kind = ARGV[at], calls = tonumber(ARGV[at + 1]), period = tonumber(ARGV[at + 2])}
    l.interval, l.width, l.capacity = l.period / l.calls, math.ceil(l.period / 50), l.calls
    if l.kind == 'rate' then l.capacity = math.max(tonumber(ARGV[at + 3]), l.calls / l.period * lease, 1) end
    if l.kind == 'fixed' or l.kind == 'sliding' then slice = math.min(slice or l.width, l.width) end
    limits[i] = l
end
if #limits == 1 and limits[1].kind == 'fixed' then slice = limits[1].period end
local taken = {}
for _, l in ipairs(limits) do
    l.n = ':' .. l.kind
    if l.kind == 'sliding' then
        l.width = math.ceil(l.width / slice) * slice
        l.n = string.format('%s%.0f/%.0f', l.n, l.period, l.width)
    elseif l.kind == 'fixed' then
        l.n = string.format('%s%.0f', l.n, l.period)
    end
    while taken[l.n] do l.n = l.n .. '+' end
    taken[l.n] = true
    for _, name in ipairs({'level', 'mark', 'lot', 'hungry', 'due'}) do names[#names + 1] = name .. l.n end
end
local values = redis.call('HMGET', key, unpack(names))
local s = {}
for i, name in ipairs(names) do
    if i < shared - 1 or i > shared then s[name] = tonumber(values[i] or '') end
end
local probe = values[shared - 1]
-- The mark of a limit in what is stored of a member, and whether it is hungry there.
local function mark_of(member, l)
    local _, stop = string.find(member or '', ' ' .. l.n .. ' ', 1, true)
    if not stop then return nil end
    local mark, hunger = string.match(member, '(%S+) (%d)', stop)
    return tonumber(mark), hunger == '1'
end
local epoch = s.epoch or 0
-- After the clock was set back, what is to come is as far away as before, and what was is as long ago.
local back = math.max(0, (s.time or now) - now)
for _, name in ipairs({'held', 'probe_ends', 'opened'}) do if s[name] then s[name] = s[name] - back end end

-- What is free. Permits of different slices are told apart: each lies in one lot of each limit.
local came = (returned_lot - 1) * (slice or 0)
local function flowed(t)
    if not s.opened then return t end
    local since = t - s.opened
    if since >= ramp then return since - ramp / 2 end
    return since > 0 and since * since / (2 * ramp) or 0
end
for _, l in ipairs(limits) do
    local back, stored = returned, s['level' .. l.n]
    l.level, l.lot, l.valid, l.leaves = math.min(stored or l.capacity, l.capacity), 0, lease, 0
    if l.kind == 'rate' then
        l.lot = now
        l.level = math.min(l.capacity, l.level + (flowed(now) - flowed(math.min(s['lot' .. l.n] or now, now))) / l.interval)
    elseif l.kind == 'fixed' then
        l.lot = (math.floor(now / l.period) + 1) * l.period
        l.valid = l.lot - now
        l.leaves = l.valid
        if s['lot' .. l.n] ~= l.lot then l.level = l.capacity end
        if (math.floor(came / l.period) + 1) * l.period ~= l.lot then back = 0 end
    elseif l.kind == 'sliding' then
        l.lot = math.floor(now / l.width)
        l.valid = (l.lot + 1) * l.width + lease - now
        local first, slices = l.lot - math.ceil((l.period + lease) / l.width), {}
        for i = first, l.lot do slices[#slices + 1] = 'w' .. l.n .. ' ' .. string.format('%.0f', i) end
        l.level = l.capacity
        for i, count in ipairs(redis.call('HMGET', key, unpack(slices))) do
            if count then
                local number = first + i - 1
                local rest = (number + 1) * l.width + lease + l.period - now
                if reset then
                    redis.call('HDEL', key, slices[i])
                elseif rest > 0 then
                    count = tonumber(count)
                    if number == math.floor(came / l.width) then
                        back = math.min(back, count)
                        if back > 0 then redis.call('HINCRBY', key, slices[i], -back) end
                        count = count - back
                    end
                    l.level = l.level - count
                    if l.leaves == 0 and count > 0 then l.leaves = rest end
                end
            end
        end
        l.level, back = math.max(0, l.level), 0
    else
        l.level, l.capacity = wanted, math.max(1, wanted)
    end
    if reset then l.level = l.capacity end
    l.fresh = math.max(0, l.level - (stored or 0))
    l.level = math.min(l.capacity, l.level + back)
end

-- The members, and what they are due.
local alive, counted = math.max(1, s.alive or 1), s.counted or 0
for _, l in ipairs(limits) do
    l.hungry = math.max(1, s['hungry' .. l.n] or 1)
    l.mark = (s['mark' .. l.n] or 0) + l.fresh / l.hungry
    l.due = math.min((s['due' .. l.n] or 0) + l.fresh, l.capacity)
    l.part = math.max(1, l.capacity / l.hungry)
    l.own = math.max(0, math.min(l.part, l.mark - (mark_of(values[shared], l) or -math.huge)))
end
if not values[shared] or now - counted >= lease / 2 or counted > now then
    counted, alive = now, 1
    for _, l in ipairs(limits) do l.hungry, l.due = 1, l.own end
    local old = {}
    local fields = redis.call('HGETALL', key)
    for f = 1, #fields, 2 do
        local sort, rest = string.sub(fields[f], 1, 2), string.sub(fields[f], 3)
        if sort == 'm:' and rest ~= me then
            local member = fields[f + 1]
            local seen = tonumber(string.match(member, '%S+'))
            if seen > now then
                redis.call('HSET', key, fields[f], (string.gsub(member, '%S+', string.format('%.0f', now), 1)))
            end
            if now - seen > forget then
                old[#old + 1] = fields[f]
            else
                alive = alive + 1
                for _, l in ipairs(limits) do
                    local mark, hungry = mark_of(member, l)
                    if hungry and now - seen <= 4 * lease then
                        l.hungry = l.hungry + 1
                        l.due = l.due + math.max(0, math.min(l.part, l.mark - mark))
                    end
                end
            end
        elseif sort == 'w:' then
            -- Of a limit that others may have, and this member not.
            local period, width, number = string.match(rest, '(%d+)/(%d+)%+* (%d+)')
            if number * width > now or (number + 1) * width + lease + period < now then old[#old + 1] = fields[f] end
        end
    end
    for i = 1, math.min(#old, 100) do redis.call('HDEL', key, old[i]) end
end

-- The gate.
local held, length, holds = s.held, s.length or 0, s.holds or 0
if probe and (s.probe_ends or 0) <= now then probe = false end
if hold >= 0 then
    if counts == '1' and (not held or probe == me or holds == 0) then holds = holds + 1 end
    length = math.max(hold, held and held - now or 0)
    held, probe, epoch = now + length, false, epoch + 1
elseif hold == -2 and held then
    held = math.min(held, now)
end
if probe_end == 'well' and probe == me then
    held, probe, holds, s.opened, epoch = nil, false, 0, now, epoch + 1
    for _, l in ipairs(limits) do
        if l.kind == 'rate' then l.level, l.due = 0, 0 end
    end
elseif probe_end == 'unclear' and probe == me then
    probe = false
end
local gate, wait = 0, 0
if held and held > now then
    gate, wait = 1, held - now
elseif held then
    if not probe and wants_probe == '1' then probe = me end
    if probe == me then
        gate, s.probe_ends = 2, now + 20 * lease
    else
        gate = 1
        if probe then wait = math.min(s.probe_ends - now, lease) end
    end
end

-- The permits: as many as each limit has for this member.
local granted = gate == 0 and wanted or 0
for _, l in ipairs(limits) do
    l.others = math.max(0, l.due - l.own)
    -- A bucket that runs over is of no use to those it is kept for.
    local free = math.min(l.level, math.max(l.own, l.level - l.others, l.level >= l.capacity / 2 and 1 or 0))
    l.most = gate == 0 and math.max(0, math.min(wanted, math.floor(free + 1e-6))) or 0
    granted = math.min(granted, l.most)
end
local valid, left = slice and math.huge or lease, math.huge
for _, l in ipairs(limits) do
    l.level = math.max(0, l.level - granted)
    l.due = math.max(0, l.due - math.min(l.own, granted))
    l.own = math.max(0, l.own - granted)
    if gate == 0 and l.most < wanted then
        local comes = l.leaves
        if l.kind == 'rate' then
            comes = math.max(1 - l.level, math.min((1 - l.own) * l.hungry, 1 - (l.level - l.others))) * l.interval
        end
        wait = math.max(wait, 1, math.ceil(comes))
    end
    if l.kind == 'sliding' and granted > 0 then
        redis.call('HINCRBY', key, 'w' .. l.n .. ' ' .. string.format('%.0f', l.lot), granted)
    end
    -- A rate's permits don't end for good.
    if l.kind ~= 'rate' then valid = math.min(valid, l.valid) end
    left = math.min(left, l.level)
end

local function text(number) return string.format('%.17g', number) end
local state = {'time', text(now), 'alive', alive, 'counted', text(counted), 'length', text(length), 'holds', holds,
    'epoch', text(epoch)}
local words, rest = {text(now)}, math.max(forget, held and held - now or 0, ramp)
for _, l in ipairs(limits) do
    for _, name in ipairs({'level', 'mark', 'lot', 'hungry', 'due'}) do
        state[#state + 1] = name .. l.n
        state[#state + 1] = text(l[name])
    end
    words[#words + 1] = l.n .. ' ' .. text(l.mark - l.own) .. (l.most < wanted and ' 1' or ' 0')
    rest = math.max(rest, 2 * l.period, 2 * l.capacity * l.interval)
end
redis.call('HSET', key, 'm:' .. me, table.concat(words, ' '), unpack(state))
if held then redis.call('HSET', key, 'held', text(held)) elseif s.held then redis.call('HDEL', key, 'held') end
if probe then
    redis.call('HSET', key, 'probe', probe, 'probe_ends', text(s.probe_ends))
elseif values[shared - 1] then
    redis.call('HDEL', key, 'probe', 'probe_ends')
end
if s.opened then redis.call('HSET', key, 'opened', text(s.opened)) end
-- Others may have longer limits.
rest = math.max(math.ceil(rest / 1000) + 60000, redis.call('PTTL', key))
redis.call('PEXPIRE', key, string.format('%.0f', math.min(rest, 2592000000)))
local mark = slice and math.floor(now / slice) + 1 or 0
return {granted, math.ceil(wait), alive, mark, math.floor(valid), gate, holds, epoch, math.min(math.floor(left), 2 ^ 50)}
