#if Redis
    import Resilience
    import ResilienceTesting
    import TestServers
    import TestSupport
    import Testing

    @testable import ResilienceFleet

    /// Every script, when the engine's clock jumps by an hour in either direction, as after a failover to a server with
    /// another clock.
    @Suite(.enabled(if: RedisServer.isInstalled, Comment(rawValue: RedisServer.isMissing)))
    struct EngineClockTests {
        let bench: ScriptBench
        static let start = MonotonicInstant(nanoseconds: 1_700_000_000_000_000_000)
        static let lease = Duration.milliseconds(100)

        init() throws { bench = try ScriptBench() }

        /// A jump of the engine's clock.
        struct Jump: Sendable {
            let at: Duration
            let by: Duration
        }

        private func run(
            _ script: EngineScript, _ key: String, _ arguments: [String], at time: Duration, _ jumps: [Jump]
        )
            throws -> [Int64]
        {
            let offset = jumps.filter { $0.at <= time }.reduce(Duration.zero) { $0 + $1.by }
            return try bench.run(script, key, arguments, at: (Self.start + time + offset).nanoseconds / 1_000)
        }

        /// Two members that want all they can get, and one that vanishes after a second. A 429 at 1 s holds all for a
        /// second; then a rate has a ramp of a second.
        /// - Returns: The permits granted up to each tenth of a second.
        private func flow(_ limits: [ThrottleLimit], _ key: String, _ jumps: [Jump]) throws -> [Int] {
            var (granted, sums) = (0, [Int]())
            var gates = [LeaseAnswer.Gate](repeating: .open, count: 3)
            for step in 0..<300 {
                let time = Duration.milliseconds(20 * step + 3)
                for member in 0..<(step < 50 ? 3 : 2) {
                    var ask = LeaseStateMachine.Ask(wanted: 5, time: Self.start)
                    if step == 50, member == 0 { ask.hold = .until(Self.start + .seconds(1), counts: true) }
                    ask.wantsProbe = gates[member] == .held
                    if gates[member] == .probing { ask.probeEnd = .well }
                    let words = try run(
                        .throttle, key,
                        ask.arguments(
                            member: "m\(member)", limits: limits, ramp: .seconds(1), lease: Self.lease,
                            engineLimit: Self.lease / 2),
                        at: time,
                        jumps)
                    let answer = try #require(LeaseAnswer(words, to: ask), "\(words)")
                    (gates[member], granted) = (answer.gate, granted + answer.granted)
                }
                if step % 5 == 4 { sums.append(granted) }
            }
            return sums
        }

        @Test(
            "a limit grants as if the clock had not jumped; each jump admits at most one more burst (P69)",
            arguments: [
                [.perSecond(100, burst: 10)], [.fixedWindow(20, per: .seconds(1))],
                [.slidingWindow(20, per: .seconds(1))],
                [.perSecond(100, burst: 10), .fixedWindow(20, per: .seconds(1)), .slidingWindow(60, per: .seconds(3))],
            ] as [[ThrottleLimit]])
        func throttle(limits: [ThrottleLimit]) throws {
            let usual = try flow(limits, "usual", [])
            // The most permits at once, beyond those that flow in during a lease.
            let burst = 22
            var random = SeededGenerator(seed: 36)
            for round in 0..<16 {
                // Some jumps go there and back.
                let by = Duration.seconds(Bool.random(using: &random) ? 3_600 : -3_600)
                let at = Duration.milliseconds(Int.random(in: 0...3_500, using: &random))
                let again = Duration.milliseconds(Int.random(in: 100...1_500, using: &random))
                let jumps = [Jump(at: at, by: by), Jump(at: at + again, by: .zero - by)]
                let got = try flow(limits, "k\(round)", jumps)
                for (index, (got, usual)) in zip(got, usual).enumerated() {
                    #expect(got >= usual - burst, "after \(index + 1) tenths of a second: \(jumps)")
                    // A jump beyond the end of a hold or a ramp ends it.
                    #expect(got <= usual + 2 * burst + 160, "after \(index + 1) tenths of a second: \(jumps)")
                }
                if by < .zero, at + again < .seconds(1) || at > .seconds(3) {
                    #expect(got[59] <= usual[59] + 2 * burst, "\(jumps)")
                }
            }
        }

        @Test(
            "a member that is gone is evicted on time, even if the clock was set back meanwhile",
            arguments: [Duration.zero, .seconds(-3_600)])
        func gone(by: Duration) throws {
            let jumps = [Jump(at: .milliseconds(500), by: by)]
            let throttle = LeaseStateMachine.Ask(wanted: 99, time: Self.start)
            let part = { (number: Int) in
                var ask = PartStateMachine.Ask(limit: 10, number: number)
                (ask.need, ask.valid) = (8, .seconds(1))
                return ask
            }
            var report = FleetCircuit.Report()
            (report.calls, report.failures, report.isOpen, report.openFor) = (100, 100, true, .seconds(5))
            let circuit = Fleet("f", engine: SimulatedEngine(bench: bench, clock: ManualClock()), expectedMembers: 9)
            func ask(_ member: String, _ step: Int, at time: Duration) throws -> [Int64] {
                let limit = ThrottleLimit.perSecond(10, burst: 10)
                let report = member == "gone" ? report : FleetCircuit.Report()
                return [
                    try run(
                        .throttle, "t",
                        throttle.arguments(
                            member: member, limits: [limit], ramp: .zero, lease: Self.lease, engineLimit: Self.lease / 2
                        ),
                        at: time, jumps)[2],
                    try run(
                        .breaker, "c", report.arguments(of: member, in: circuit, rule: FleetTripRule()), at: time, jumps
                    )[4],
                    try run(.bulkhead, "b", part(step + 1).arguments(member: member), at: time, jumps)[1],
                    try run(
                        .budget, "r", [member, "100", "0", member == "gone" ? "20" : "0", "14", "10000000", "0"],
                        at: time, jumps)[2],
                ]
            }
            _ = try ask("gone", 0, at: .zero)
            var last: [Int64] = []
            for step in 0..<125 {
                last = try ask("here", step, at: .milliseconds(100 * step + 100))
                if step < 3 { #expect(last == [2, 2, 2, 2]) }
            }
            #expect(last == [1, 1, 1, 1])
            // The part of the member that is gone is free again.
            #expect(try run(.bulkhead, "b", part(999).arguments(member: "here"), at: .seconds(13), jumps)[0] == 8)
            #expect(
                try run(.budget, "r", ["here", "100", "0", "100", "1", "10000000", "0"], at: .seconds(13), jumps)[0]
                    > 40)
        }

        @Test(
            "parts never exceed the limit when the clock is set back, and are equal again at once afterwards"
        )
        func parts() throws {
            var random = SeededGenerator(seed: 37)
            for round in 0..<10 {
                let jumps = [
                    Jump(at: .milliseconds(Int.random(in: 1_000...2_000, using: &random)), by: .seconds(-3_600))
                ]
                var machines = (0..<2).map { _ in
                    PartStateMachine(limit: 20, lease: Self.lease, fallback: .closed, at: Self.start)
                }
                var parts = [0, 0]
                for step in 0..<400 {
                    let time = Duration.milliseconds(10 * step)
                    for index in 0..<2 where machines[index].due <= Self.start + time {
                        let ask = machines[index].ask(used: parts[index], queued: 15, at: Self.start + time)
                        let words = try run(.bulkhead, "b\(round)", ask.arguments(member: "m\(index)"), at: time, jumps)
                        parts[index] = Int(words[0])
                        machines[index].answered(part: parts[index], members: 2, to: ask, at: Self.start + time)
                    }
                    #expect(parts[0] + parts[1] <= 20, "\(time) \(jumps)")
                    if step > 60 { #expect(parts == [10, 10], "\(time) \(jumps)") }
                }
            }
        }

        @Test("a break of the fleet ends on time, and its probe comes, whenever the clock jumps (P69)")
        func breaks() throws {
            let fleet = Fleet("f", engine: SimulatedEngine(bench: bench, clock: ManualClock()))
            var random = SeededGenerator(seed: 38)
            for round in 0..<20 {
                let at = Duration.milliseconds(Int.random(in: 0...2_500, using: &random))
                let jumps = [Jump(at: at, by: .seconds(round % 2 == 0 ? -3_600 : 3_600))]
                var (epoch, closedAt, opened): (Int64, Duration?, Bool) = (0, nil, false)
                var probes = [false, false]
                for step in 0..<200 where closedAt == nil {
                    let time = Duration.milliseconds(25 * step)
                    for member in 0..<2 {
                        var report = FleetCircuit.Report()
                        (report.epoch, report.openFor, report.wantsProbe) = (epoch, .seconds(1), opened)
                        if !opened { (report.calls, report.failures, report.isOpen) = (50, 50, true) }
                        if probes[member] { report.result = .well }
                        let words = try run(
                            .breaker, "c\(round)", report.arguments(of: "m\(member)", in: fleet, rule: FleetTripRule()),
                            at: time, jumps)
                        let answer = try #require(BreakerAnswer(words))
                        epoch = answer.epoch
                        probes[member] = answer.state == .probing
                        if answer.state == .open { opened = true }
                        if opened, answer.state == .closed { closedAt = closedAt ?? time }
                    }
                }
                // A running break restarts when the clock is set back.
                let closed = try #require(closedAt, "\(jumps)")
                #expect(closed <= .milliseconds(2_150), "\(closed) \(jumps)")
            }
        }
    }
#endif
