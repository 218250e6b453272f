/// The state of a limit that a fleet keeps together, and the one step that changes it, which runs in the engine.
///
/// A hash holds the state, on the engine's clock, in microseconds:
///
/// - `level`, `time`: the permits that are free, and since when that is known. A rate's bucket is GCRA's, written as
///   what is in it: what a member takes and gives back are whole permits. A fixed window begins at a multiple of its
///   length since 1970. A sliding window counts in slices of a fiftieth, `w:` and their number, and a permit stays in it
///   until the last instant at which it may be used has left it: never more calls than the limit go in any period.
/// - `mark`, `due`: the fair shares. Of each permit that becomes free, every hungry member is due an equal part, up to
///   its part of a full bucket. `mark` is what each was due since the beginning; a member's own mark, what it got. A
///   member gets more than it is due only from what the others are not due: max-min fairness, as in start-time fair
///   queueing (Goyal, Vin, Cheng, 1996).
/// - `m:` and a member: its mark, when it was seen, and whether it got less than it wanted. `alive`, `hungry` and `due`
///   sum these up; they are counted anew at most twice in a lease, so that the cost of a step does not grow with the
///   fleet.
/// - `epoch`: counts the holds and their ends. A smaller number than before tells that the engine has lost what it knew.
/// - `held`, `length`, `holds`: until when the gate is shut, how long that was, and the number of holds in a row.
///   `probe`, `probe_ends`: the member whose call is to probe, and until when that is its right. `opened`: when the gate
///   has opened last, for the ramp.
extension EngineScript {
    static let throttle = EngineScript(
        name: "throttle", sha1: "48d4ec354fbb4169e93bde0164b7bb8de00feddd",
        source: """
            local key, me, kind = KEYS[1], ARGV[1], ARGV[2]
            local calls, period, burst = tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
            local ramp, lease, forget = tonumber(ARGV[6]), tonumber(ARGV[7]), tonumber(ARGV[8])
            local wanted, returned, returned_lot = tonumber(ARGV[9]), tonumber(ARGV[10]), tonumber(ARGV[11])
            local hold, counts, probe_end, wants_probe = tonumber(ARGV[12]), ARGV[13], ARGV[14], ARGV[15]
            local reset = ARGV[16] == '1'
            local time = redis.call('TIME')
            local now = time[1] * 1000000 + time[2]

            local names = {'level', 'mark', 'time', 'lot', 'alive', 'hungry', 'due', 'counted', 'held', 'length', 'holds',
                'probe_ends', 'opened', 'epoch', 'probe', 'm:' .. me}
            local values = redis.call('HMGET', key, unpack(names))
            local s = {}
            for i = 1, 14 do s[names[i]] = tonumber(values[i] or '') end
            local probe, mine = values[15], values[16]
            local epoch = s.epoch or 0
            local past = math.min(s.time or now, now)
            -- After the clock was set back, what is to come is as far away as before, and what was is as long ago.
            local back = math.max(0, (s.time or now) - now)
            for _, name in ipairs({'held', 'probe_ends', 'opened'}) do if s[name] then s[name] = s[name] - back end end

            -- What is free.
            local capacity = calls
            if kind == 'rate' then capacity = math.max(burst, calls / period * lease, 1) end
            local level, lot, valid, leaves = math.min(s.level or capacity, capacity), 0, lease, 0
            local interval = period / calls
            local width = math.ceil(period / 50)
            if kind == 'rate' then
                local function flowed(t)
                    if not s.opened then return t end
                    local since = t - s.opened
                    if since >= ramp then return since - ramp / 2 end
                    return since > 0 and since * since / (2 * ramp) or 0
                end
                level = math.min(capacity, level + (flowed(now) - flowed(past)) / interval)
            elseif kind == 'fixed' then
                lot = (math.floor(now / period) + 1) * period
                valid = lot - now
                leaves = valid
                if s.lot ~= lot then level = capacity end
                if returned_lot ~= lot then returned = 0 end
            elseif kind == 'sliding' then
                lot = math.floor(now / width)
                valid = (lot + 1) * width + lease - now
                local slices = {}
                for i = lot - math.ceil((period + lease) / width), lot do slices[#slices + 1] = 'w:' .. string.format('%.0f', i) end
                local used = redis.call('HMGET', key, unpack(slices))
                level = capacity
                local first = lot - #slices + 1
                for i, count in ipairs(used) do
                    if count then
                        local number = first + i - 1
                        local rest = (number + 1) * width + lease + period - now
                        if reset then
                            redis.call('HDEL', key, slices[i])
                        elseif rest > 0 then
                            count = tonumber(count)
                            if number == returned_lot then
                                returned = math.min(returned, count)
                                if returned > 0 then redis.call('HINCRBY', key, slices[i], -returned) end
                                count = count - returned
                            end
                            level = level - count
                            if leaves == 0 and count > 0 then leaves = rest end
                        end
                    end
                end
                level = math.max(0, level)
                returned = 0
            else
                level, capacity = wanted, math.max(1, wanted)
            end
            if reset then level = capacity end
            local fresh = math.max(0, level - (s.level or 0))
            level = math.min(capacity, level + returned)

            -- The members, and what they are due.
            local mark, hungry, alive = s.mark or 0, math.max(1, s.hungry or 1), math.max(1, s.alive or 1)
            mark = mark + fresh / hungry
            local due = math.min((s.due or 0) + fresh, capacity)
            local cap = math.max(1, capacity / hungry)
            local own = cap
            if mine then own = math.max(0, math.min(cap, mark - tonumber(string.match(mine, '%S+')))) end
            local counted = s.counted or 0
            if not mine or now - counted >= lease / 2 or counted > now then
                counted, alive, hungry, due = now, 1, 1, own
                local old = {}
                local fields = redis.call('HGETALL', key)
                for i = 1, #fields, 2 do
                    local sort, rest = string.sub(fields[i], 1, 2), string.sub(fields[i], 3)
                    if sort == 'm:' and rest ~= me then
                        local m, seen, hunger = string.match(fields[i + 1], '(%S+) (%S+) (%S+)')
                        seen = tonumber(seen)
                        if seen > now then redis.call('HSET', key, fields[i], m .. string.format(' %.0f ', now) .. hunger) end
                        if now - seen > forget then
                            old[#old + 1] = fields[i]
                        else
                            alive = alive + 1
                            if hunger == '1' and now - seen <= 4 * lease then
                                hungry = hungry + 1
                                due = due + math.max(0, math.min(cap, mark - tonumber(m)))
                            end
                        end
                    elseif sort == 'w:' and (tonumber(rest) > lot or (tonumber(rest) + 1) * width + lease + period < now) then
                        old[#old + 1] = fields[i]
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
                if kind == 'rate' then level, due = 0, 0 end
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

            -- The permits.
            local granted = 0
            if gate == 0 then
                local others = math.max(0, due - own)
                -- A bucket that runs over is of no use to those it is kept for.
                local free = math.min(level, math.max(own, level - others, level >= capacity / 2 and 1 or 0))
                granted = math.max(0, math.min(wanted, math.floor(free + 1e-6)))
                level = math.max(0, level - granted)
                due = math.max(0, due - math.min(own, granted))
                own = math.max(0, own - granted)
                if granted < wanted then
                    if kind == 'rate' then
                        local shared = math.min((1 - own) * hungry, 1 - (level - others))
                        wait = math.max(1, math.ceil(math.max(1 - level, shared) * interval))
                    else
                        wait = math.max(1, math.ceil(leaves))
                    end
                end
                if kind == 'sliding' and granted > 0 then redis.call('HINCRBY', key, 'w:' .. string.format('%.0f', lot), granted) end
            end

            local function text(number) return string.format('%.17g', number) end
            redis.call('HSET', key, 'level', text(level), 'mark', text(mark), 'time', text(now), 'lot', text(lot), 'alive', alive,
                'hungry', hungry, 'due', text(due), 'counted', text(counted), 'length', text(length), 'holds', holds, 'epoch', text(epoch),
                'm:' .. me, text(mark - own) .. ' ' .. text(now) .. (granted < wanted and ' 1' or ' 0'))
            if held then redis.call('HSET', key, 'held', text(held)) elseif s.held then redis.call('HDEL', key, 'held') end
            if probe then
                redis.call('HSET', key, 'probe', probe, 'probe_ends', text(s.probe_ends))
            elseif values[15] then
                redis.call('HDEL', key, 'probe', 'probe_ends')
            end
            if s.opened then redis.call('HSET', key, 'opened', text(s.opened)) end
            local rest = math.max(forget, 2 * period, 2 * capacity * interval, held and held - now or 0, ramp) + 60000000
            redis.call('PEXPIRE', key, string.format('%.0f', math.min(math.ceil(rest / 1000), 2592000000)))
            return {granted, math.ceil(wait), alive, lot, math.floor(valid), gate, holds, epoch, math.min(math.floor(level), 2 ^ 50)}
            """)
}
