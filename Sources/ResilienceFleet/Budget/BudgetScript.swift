/// The tokens of a retry budget that a fleet has together: a full budget at first, and what successes bring back.
extension EngineScript {
    static let budget = EngineScript(
        name: "budget", sha1: "f691ce2a330c180fc489613e812397842c3469a4",
        source: """
            local key, me = KEYS[1], ARGV[1]
            local capacity, earned, wanted = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
            local least, forget = tonumber(ARGV[5]), tonumber(ARGV[6])
            local time = redis.call('TIME')
            local now = time[1] * 1000000 + time[2]

            local level = math.min(tonumber(redis.call('HGET', key, 'level') or '') or capacity, capacity)
            level = math.min(capacity, level + earned)
            redis.call('HSET', key, 'm:' .. me, string.format('%.0f', now))
            local alive, old = 0, {}
            local fields = redis.call('HGETALL', key)
            for i = 1, #fields, 2 do
                if string.sub(fields[i], 1, 2) == 'm:' then
                    if now - tonumber(fields[i + 1]) > forget then old[#old + 1] = fields[i] else alive = alive + 1 end
                end
            end
            for i = 1, math.min(#old, 100) do redis.call('HDEL', key, old[i]) end
            -- Nobody takes all that others may need, but a retry can always be paid for.
            local granted = math.min(wanted, level, math.max(least, math.floor(level / (alive + 1))))
            level = level - granted
            redis.call('HSET', key, 'level', string.format('%.0f', level))
            redis.call('PEXPIRE', key, string.format('%.0f', math.ceil(forget / 1000) + 3600000))
            return {granted, level, alive}
            """)
}
