#if Redis
    import Resilience
    import TestServers

    /// Members that want three times the limit, and a server. Some members may be cut off from the server.
    struct LimitTrial {
        let seconds: Int
        let members: Int
        /// How many members are cut off, halfway through ``before``.
        let cut: Int
        let lease: Duration
        let bounds: Bounds
        /// After this time the members that are cut off have noticed it, and count alone.
        private let before = Duration.seconds(4)

        init(seconds: Int, members: Int, cut: Int, lease: Duration, bounds: Bounds) {
            (self.seconds, self.members, self.cut, self.lease, self.bounds) = (seconds, members, cut, lease, bounds)
        }

        /// - Returns: The bounds that were broken.
        func run() async throws -> [String] {
            let server = try RedisServer()
            let link = cut > 0 ? try Link(to: server.socket) : nil
            let before = link == nil ? .zero : before
            let crew = try Crew(
                Plan(address: .socket(server.socket), members: members, lease: lease), for: before + .seconds(seconds),
                through: link.map { ($0, cut) })
            try await SystemTimeBase.shared.sleep(until: crew.plan.begin + before / 2)
            link?.cut()
            let sum = try Sum(plan: crew.plan, records: crew.records())
            withExtendedLifetime(server) {}

            let all = sum.slots(crew.plan.begin + before, crew.plan.end)
            let shares = sum.admitted(in: all)
            let total = shares.reduce(0, +)
            let rejected = sum.records.reduce(0) { $0 + $1.slots[all].reduce(0) { $0 + $1.rejected } }
            // Members that are cut off use their own parts; the others use the whole limit.
            let perSlot = sum.allowed(in: all)
            let burst = max(Plan.burst, crew.plan.leased)
            let allowed = Int(perSlot.calls.reduce(0, +)) + burst
            let together = shares.dropFirst(cut)
            let equal = Double(max(1, together.reduce(0, +))) / Double(max(1, members - cut))
            let (smallest, largest) = (Double(together.min() ?? 0) / equal, Double(together.max() ?? 0) / equal)
            let asked = sum.records.reduce(0) { $0 + $1.asked }
            let failed = sum.records.dropFirst(cut).reduce(0) { $0 + $1.failures.count }
            let longest = sum.longest(in: all)
            let overshoot = sum.overshoot(in: all, allowed: perSlot.calls) + Plan.burst - burst
            print(
                """
                \(members) processes, \(Plan.rate) calls per second, burst \(Plan.burst), for \(seconds) s\
                \(cut > 0 ? ", \(cut) of them cut off" : "")
                  calls made                \(total + rejected)
                  admitted                  \(total), \(percent(Double(total) / Double(Plan.rate * seconds))) of the limit; \
                at most \(allowed), with the parts of those that are away
                  most over the limit       \(overshoot) calls in any stretch of time (below 0: none)
                  share of a member         \(percent(smallest)) to \(percent(largest)) of an equal one
                  engine calls              \(asked), \(hundredths(Double(asked) / Double(total))) per admitted call; \(failed) failed
                  away, on the mean         \(hundredths(perSlot.away)) members
                  time of a call            p99 \(Sum.quantile(0.99, of: sum.records.map(\.took)).text), longest \
                \(longest.time.text); budget \(crew.plan.budget.text)
                  timers are late by        p99 \(Sum.quantile(0.99, of: sum.records.map(\.late)).text), most \
                \(Sum.quantile(1, of: sum.records.map(\.late)).text)
                """)

            var problems: [String] = []
            if total > allowed { problems.append("more than the limit: \(total) of \(allowed)") }
            if overshoot > crew.plan.leased + slotful { problems.append("a stretch with \(overshoot) calls too many") }
            // A question needs several turns of the processor within its time limit. On a machine that is too busy for
            // them, only the hard limits are checked.
            guard Sum.quantile(0.99, of: sum.records.map(\.late)) <= crew.plan.engineLimit / 4 else {
                print("  the machine is too busy for this lease: only the most was looked at")
                return problems
            }
            // A full bucket of one call stays full until the next call comes. This adds one interval between calls to
            // the time that the bucket takes to fill.
            let used = Plan.burst / members > 1 ? 1 : Double(Plan.demand) / Double(Plan.demand + 1)
            let least =
                Double(Plan.rate * seconds) * (1 + used * Double(cut) / Double(members)) * (1 - bounds.loss)
            if Double(total) < least { problems.append("less than the limit: \(total) of \(Int(least))") }
            if max(1 - smallest, largest - 1) > bounds.unfairness { problems.append("unequal shares: \(shares)") }
            if longest.over > bounds.slack { problems.append("a call of \(longest.time.text)") }
            return problems
        }
    }

    /// How many calls the limit allows in one slot: no figure is more precise than this.
    let slotful = Int(Double(Plan.rate) * (Record.slot / .seconds(1)))

    func percent(_ share: Double) -> String { "\((share * 1_000).rounded() / 10) %" }

    func hundredths(_ number: Double) -> String { "\((number * 100).rounded() / 100)" }
#endif
