#if Redis
    import Resilience
    import TestServers

    /// Members that want three times the limit, and a server that is there.
    struct LimitTrial {
        let seconds: Int
        let members: Int
        let bounds: Bounds

        /// - Returns: The bounds that were broken.
        func run() async throws -> [String] {
            let server = try RedisServer()
            let crew = try Crew(
                Plan(address: .socket(server.socket), members: members), for: .seconds(seconds))
            let sum = try Sum(plan: crew.plan, records: crew.records())
            withExtendedLifetime(server) {}

            let all = sum.slots(crew.plan.begin, crew.plan.end)
            let shares = sum.admitted(in: all)
            let total = shares.reduce(0, +)
            let rejected = sum.records.reduce(0) { $0 + $1.slots.reduce(0) { $0 + $1.rejected } }
            let allowed = Plan.rate * seconds + Plan.burst
            let equal = Double(total) / Double(members)
            let (least, most) = (Double(shares.min() ?? 0) / equal, Double(shares.max() ?? 0) / equal)
            let asked = sum.records.reduce(0) { $0 + $1.asked }
            let longest = sum.longest(in: all)
            let overshoot = sum.overshoot(in: all)
            print(
                """
                \(members) processes, \(Plan.rate) calls per second, burst \(Plan.burst), for \(seconds) s
                  calls made                \(total + rejected)
                  admitted                  \(total) of \(allowed): \(percent(Double(total) / Double(allowed)))
                  most over the limit       \(overshoot) calls in any stretch of time (below 0: none)
                  share of a member         \(percent(least)) to \(percent(most)) of an equal one
                  engine calls              \(asked), \(hundredths(Double(asked) / Double(total))) per admitted call
                  time of a call            p99 \(Sum.quantile(0.99, of: sum.records.map(\.took)).text), longest \
                \(longest.time.text); budget \(Plan.budget.text)
                  timers are late by        p99 \(Sum.quantile(0.99, of: sum.records.map(\.late)).text), most \
                \(Sum.quantile(1, of: sum.records.map(\.late)).text)
                """)

            var problems: [String] = []
            if total > allowed { problems.append("more than the limit: \(total) of \(allowed)") }
            if overshoot > Plan.leased + slotful { problems.append("a stretch with \(overshoot) calls too many") }
            if Double(total) < Double(allowed) * (1 - bounds.loss) {
                problems.append("less than the limit: \(total) of \(allowed)")
            }
            if max(1 - least, most - 1) > bounds.unfairness { problems.append("unequal shares: \(shares)") }
            if longest.over > bounds.slack { problems.append("a call of \(longest.time.text)") }
            return problems
        }
    }

    /// What falls into one slot: no figure is finer.
    let slotful = Int(Double(Plan.rate) * (Record.slot / .seconds(1)))

    func percent(_ share: Double) -> String { "\((share * 1_000).rounded() / 10) %" }

    func hundredths(_ number: Double) -> String { "\((number * 100).rounded() / 100)" }
#endif
