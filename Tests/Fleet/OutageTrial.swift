#if Redis
    import Resilience
    import ResilienceFleet
    import TestServers

    /// Three outages: a server is killed and comes back empty, stops for a while, or is cut off from all members. Each
    /// has its own server and members.
    struct OutageTrial {
        enum Outage: String, CaseIterable {
            case killed, stopped
            case cut = "cut off"
        }

        let seconds: Int
        let bounds: Bounds
        private let base = SystemTimeBase.shared
        /// The time before the outage.
        private let before = Duration.seconds(2)
        private let after = Duration.seconds(4)

        init(seconds: Int, bounds: Bounds) { (self.seconds, self.bounds) = (seconds, bounds) }

        /// - Returns: The bounds that were broken.
        func run(_ fallbacks: [FleetFallback]) async throws -> [String] {
            print(
                """
                8 processes, \(Plan.rate) calls per second, burst \(Plan.burst); the engine is away for \(seconds) s; \
                budget of a call \(Plan(address: .port(0)).budget.text)
                per second: calls admitted before, during and after the outage (from when all are back)
                over: the most calls beyond the limit and its burst in any stretch of time
                back: from when the engine is back until the last process has noticed

                outage   fallback    per second            over  longest call  back
                """)
            var problems: [String] = []
            for fallback in fallbacks {
                for outage in Outage.allCases {
                    let found = try await run(outage, fallback)
                    problems += found.map { "\(outage.rawValue), \(fallback.rawValue): \($0)" }
                }
            }
            return problems
        }

        private func run(_ outage: Outage, _ fallback: FleetFallback) async throws -> [String] {
            let server = try RedisServer()
            let link = outage == .cut ? try Link(to: server.socket) : nil
            let address = link.map { Plan.Address.port($0.port) } ?? .socket(server.socket)
            let crew = try Crew(
                Plan(address: address, fallback: fallback), for: before + .seconds(seconds) + after)

            try await base.sleep(until: crew.plan.begin + before)
            let began = base.now
            switch outage {
            case .killed: server.kill()
            case .stopped: server.pause()
            case .cut: link?.cut()
            }
            try await base.sleep(until: began + .seconds(seconds))
            switch outage {
            case .killed: try server.restart()
            case .stopped: server.resume()
            case .cut: link?.mend()
            }
            let ended = base.now
            let sum = try Sum(plan: crew.plan, records: crew.records())
            withExtendedLifetime(server) {}
            return judge(sum, outage, fallback, from: began, to: ended)
        }

        private func judge(
            _ sum: Sum, _ outage: Outage, _ fallback: FleetFallback, from began: MonotonicInstant,
            to ended: MonotonicInstant
        ) -> [String] {
            let plan = sum.plan
            var problems: [String] = []
            // When each member noticed that the engine is back.
            let back = sum.records.compactMap { $0.turns.first { !$0.isAway && $0.time >= ended }?.time }
            let wasAway = sum.records.count { $0.turns.contains { $0.isAway && $0.time >= began && $0.time < ended } }
            if wasAway < plan.members { problems.append("only \(wasAway) members noticed that the engine was away") }
            if back.count < plan.members { problems.append("only \(back.count) members noticed that it was back") }
            let last = back.max() ?? ended
            let returned = ended.duration(to: last)
            for record in sum.records {
                guard let time = record.turns.first(where: { !$0.isAway && $0.time >= ended })?.time else { continue }
                // On a busy machine, one more answer may come too late after the return.
                let since = record.failures.last { $0 > ended && $0 < time } ?? ended
                if since.duration(to: time) > bounds.untilBack {
                    problems.append("a member noticed \(since.duration(to: time).text) late that the engine was back")
                }
            }

            func perSecond(_ from: MonotonicInstant, _ to: MonotonicInstant) -> Int {
                let slots = sum.slots(from, to)
                return slots.isEmpty ? 0 : Int(Double(sum.total(in: slots)) / (Double(slots.count) * 0.01))
            }
            let all = sum.slots(plan.begin, plan.end)
            let early = perSecond(plan.begin + .milliseconds(500), began)
            // Until the members notice the outage, their calls wait for the engine or use the leases.
            let during = perSecond(began + .milliseconds(500), ended)
            let late = perSecond(last + .milliseconds(500), plan.end)
            let overshoot = sum.overshoot(in: all)
            let longest = sum.longest(in: all)

            let rate = Double(Plan.rate)
            for (name, count, from, to) in [
                ("before", early, plan.begin + .milliseconds(500), began), ("after", late, last, plan.end),
            ] {
                if Double(count) < rate * (1 - 2 * bounds.loss) {
                    problems.append("only \(count) calls per second \(name) the outage")
                }
                // On a busy machine the engine may seem away for a moment.
                let wasThere = !sum.records.contains { $0.failures.contains { $0 >= from && $0 <= to } }
                if wasThere, Double(count) > rate * 1.05 {
                    problems.append("\(count) calls per second \(name) the outage")
                }
            }
            if longest.over > bounds.slack { problems.append("a call of \(longest.time.text)") }
            switch fallback {
            case .localShare:
                // The allowed excess: each member's part of the burst; the full bucket of an engine that has come back;
                // and, until the last member notices the return, the parts of the members that have not noticed it.
                let mostOver = 2 * Plan.burst + plan.leased + slotful + Int(rate * 7 / 8 * 1.35)
                if Double(during) < rate * 0.9 { problems.append("only \(during) calls per second during the outage") }
                if overshoot > mostOver { problems.append("\(overshoot) calls too many") }
            case .open:
                if Double(during) < rate * Double(Plan.demand) * 0.7 {
                    problems.append("only \(during) calls per second during the outage")
                }
            case .closed:
                if during > 0 { problems.append("\(during) calls per second during the outage") }
                // A server that has lost its data grants a new burst.
                let most = (outage == .killed ? Plan.burst : 0) + plan.leased + slotful
                if overshoot > most { problems.append("\(overshoot) calls too many") }
            }
            print(
                [
                    (outage.rawValue, 9), (fallback.rawValue, 12), ("\(early), \(during), \(late)", 22),
                    ("\(overshoot)", 6), (longest.time.text, 14), (returned.text, 0),
                ].map { $0.0 + String(repeating: " ", count: max(0, $0.1 - $0.0.count)) }.joined())
            return problems
        }
    }
#endif
