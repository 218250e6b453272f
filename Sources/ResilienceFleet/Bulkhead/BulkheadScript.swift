/// The permits that a fleet has together, and how they are divided: each member gets what it wants if that is there for
/// all, and else an equal part of what those that want less have left (max-min fairness).
///
/// A hash holds for each member, under `m:`, the permits that it has, what it wants, and until when it has them, on the
/// engine's clock in microseconds. A member never gets what another one still has.
extension EngineScript {
    static let bulkhead = EngineScript(
        name: "bulkhead", sha1: "7d467dd9c2aaa7908c3bd876eab9c0bd2d2b170d",
        source: """
            local key, me = KEYS[1], ARGV[1]
            local limit, wanted, used, valid = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
            local time = redis.call('TIME')
            local now = time[1] * 1000000 + time[2]

            local wants, others, old = {wanted}, 0, {}
            local fields = redis.call('HGETALL', key)
            for i = 1, #fields, 2 do
                if fields[i] ~= 'm:' .. me then
                    local has, wants_, ends = string.match(fields[i + 1], '(%S+) (%S+) (%S+)')
                    ends = tonumber(ends)
                    -- Also after the clock was set back.
                    if ends <= now or ends - now > 2 * valid + 60000000 then
                        old[#old + 1] = fields[i]
                    else
                        others = others + tonumber(has)
                        wants[#wants + 1] = tonumber(wants_)
                    end
                end
            end
            for i = 1, math.min(#old, 100) do redis.call('HDEL', key, old[i]) end

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
            local has = math.max(granted, used)
            redis.call('HSET', key, 'm:' .. me, string.format('%.0f %.0f %.0f', has, wanted, now + valid))
            redis.call('PEXPIRE', key, string.format('%.0f', math.ceil(valid / 1000) + 60000))
            return {granted, #wants}
            """)
}
