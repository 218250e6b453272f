#if Redis
    import Resilience
    import ResilienceTesting
    import TestServers
    import TestSupport
    import Testing

    @testable import ResilienceFleet

    /// Whole fleets in simulated time: the real script on a real server, and each member like a process.
    @Suite(.enabled(if: RedisServer.isInstalled, Comment(rawValue: RedisServer.isMissing)))
    struct BreakerFleetTests {
        struct Failed: Error, VerdictConvertible { var verdict: Verdict { .transient } }

        /// Members that call every 20 ms. Make them within a run: a breaker starts tasks when it is made.
        final class Members: Sendable {
            let world: FleetWorld
            let breakers: [CircuitBreaker]
            /// Whether a member's call fails now.
            let fails = Locked<@Sendable (Int) -> Bool>({ _ in false })
            let calls: Counts

            init(
                _ count: Int, in world: FleetWorld, sharing rule: FleetTripRule = FleetTripRule(),
                openFor: Duration = .seconds(5), closing: ProbeRule = .successes(1)
            ) {
                self.world = world
                breakers = (0..<count).map { _ in
                    CircuitBreaker("b", in: world.fleet(), sharing: rule, openFor: .constant(openFor), closing: closing)
                }
                calls = Counts(count)
            }

            var states: [CircuitState] { breakers.map(\.state) }

            /// Fails all calls from now on, until all circuits are open.
            func open() async {
                fails.withLock { $0 = { _ in true } }
                await call(for: .seconds(2))
                #expect(states == Array(repeating: .open, count: breakers.count))
            }

            /// Lets all members call for a time.
            func call(for time: Duration, every pause: Duration = .milliseconds(20), only: Range<Int>? = nil) async {
                let clock = world.clock
                let end = clock.now + time
                await withTaskGroup { group in
                    for index in only ?? breakers.indices {
                        group.addTask(executorPreference: clock.taskExecutor) { [self] in
                            try? await clock.sleep(for: .milliseconds(index))
                            while clock.now < end {
                                try? await breakers[index].run { () async throws in
                                    calls.add(index)
                                    try await clock.sleep(for: .milliseconds(2))
                                    if fails.withLock({ $0(index) }) { throw Failed() }
                                }
                                try? await clock.sleep(for: pause)
                            }
                        }
                    }
                }
            }
        }

        @Test("a bad endpoint opens every member's circuit within a second, even in members with few calls")
        func badEndpoint() throws {
            let world = try FleetWorld()
            try world.clock.run { () async throws in
                let members = Members(8, in: world)
                await members.call(for: .seconds(3))
                members.fails.withLock { $0 = { $0 < 7 } }
                // This must hold however many successes the window has.
                await members.call(for: .seconds(1))
                #expect(members.states.filter { $0 == .open }.count == 8, "\(members.states)")
            }
        }

        @Test("an endpoint that is bad from the beginning opens every member's circuit within a second")
        func badFromTheBeginning() throws {
            let world = try FleetWorld()
            try world.clock.run { () async throws in
                // Each member has few calls: none reaches its own rule, 5 failures in a row, before the fleet's.
                let members = Members(8, in: world, sharing: FleetTripRule(minimumCalls: 24))
                members.fails.withLock { $0 = { _ in true } }
                await members.call(for: .seconds(1), every: .milliseconds(220))
                #expect(members.states == Array(repeating: .open, count: 8))
            }
        }

        @Test("one bad process of eight opens its own circuit, and the others stay closed")
        func badProcess() throws {
            let world = try FleetWorld()
            try world.clock.run { () async throws in
                let members = Members(8, in: world)
                members.fails.withLock { $0 = { $0 == 3 } }
                await members.call(for: .seconds(4))
                #expect(members.states.map { $0 == .open } == (0..<8).map { $0 == 3 })
            }
        }

        @Test(
            "after the break one call of the fleet probes; if it succeeds, all circuits close",
            arguments: [true, false])
        func probe(isWell: Bool) throws {
            let world = try FleetWorld()
            try world.clock.run { () async throws in
                let members = Members(6, in: world)
                await members.open()
                if isWell { members.fails.withLock { $0 = { _ in false } } }
                let before = members.calls.all.reduce(0, +)
                // The break of 5 s ends during these 4 s.
                await members.call(for: .seconds(4))
                let probes = members.calls.all.reduce(0, +) - before
                if isWell {
                    #expect(members.states == Array(repeating: .closed, count: 6))
                    #expect(probes > 20)
                } else {
                    #expect(probes == 1)
                    #expect(members.states == Array(repeating: .open, count: 6))
                }
            }
        }

        @Test(
            "in every outage, one call of the fleet probes after each break, and its result holds for all members")
        func outages() throws {
            let world = try FleetWorld()
            try world.clock.run { () async throws in
                let members = Members(6, in: world)
                for _ in 0..<3 {
                    await members.open()
                    for isWell in [false, false, true] {
                        if isWell { members.fails.withLock { $0 = { _ in false } } }
                        let before = members.calls.all.reduce(0, +)
                        while members.calls.all.reduce(0, +) == before { await members.call(for: .milliseconds(500)) }
                        await members.call(for: .seconds(1))
                        let probes = members.calls.all.reduce(0, +) - before
                        #expect(isWell ? probes > 20 : probes == 1, "\(probes)")
                        #expect(members.states == Array(repeating: isWell ? .closed : .open, count: 6))
                    }
                    await members.call(for: .seconds(1))
                }
            }
        }

        @Test("a member that vanishes during its turn to probe loses it")
        func lostProbe() throws {
            let world = try FleetWorld()
            try world.clock.run { () async throws in
                let members = Members(3, in: world)
                await members.open()
                // One member gets its turn, and never calls again.
                try await world.clock.sleep(for: .seconds(4))
                try? await members.breakers[0].run { () async throws in }
                try await world.clock.sleep(for: .milliseconds(50))
                members.fails.withLock { $0 = { _ in false } }
                await members.call(for: .seconds(4), only: 1..<3)
                // The silent member learns the result with its next call.
                #expect(members.states == [.halfOpen, .closed, .closed])
            }
        }

        @Test("once the engine is away, a turn to probe belongs to the member alone, and the result is not reported")
        func awayWhileProbing() throws {
            let world = try FleetWorld()
            try world.clock.run { () async throws in
                let members = Members(2, in: world)
                for _ in 0..<2 {
                    await members.open()
                    try await world.clock.sleep(for: .seconds(4))
                    try? await members.breakers[0].run { () async throws in }
                    try await world.clock.sleep(for: .milliseconds(50))
                    #expect(members.states == [.halfOpen, .open])
                    world.isUp.withLock { $0 = false }
                    try await world.clock.sleep(for: .milliseconds(500))
                    let order = members.breakers[0].tellMachine(FleetCircuit.self) { circuit, _ in circuit.order }
                    #expect(order == FleetCircuit.Order.none)
                    world.isUp.withLock { $0 = true }
                    members.fails.withLock { $0 = { _ in false } }
                    await members.call(for: .seconds(8))
                    #expect(members.states == [.closed, .closed])
                }
            }
        }

        @Test("while the engine is away each circuit decides alone, and a break ends on time")
        func away() throws {
            let world = try FleetWorld()
            try world.clock.run { () async throws in
                let members = Members(4, in: world)
                await members.open()
                world.isUp.withLock { $0 = false }
                members.fails.withLock { $0 = { _ in false } }
                await members.call(for: .seconds(8))
                #expect(members.states == Array(repeating: .closed, count: 4))
                members.fails.withLock { $0 = { $0 == 0 } }
                await members.call(for: .seconds(3))
                #expect(members.states == [.open, .closed, .closed, .closed])
            }
        }

        @Test("an engine that has lost all its data ends no break")
        func emptied() throws {
            let world = try FleetWorld()
            try world.clock.run { () async throws in
                let members = Members(4, in: world)
                await members.open()
                _ = try world.bench.command("FLUSHALL")
                await members.call(for: .seconds(2))
                #expect(members.states == Array(repeating: .open, count: 4))
            }
        }

        @Test("processes with rare calls also learn and report the result after a break", arguments: [1.5, 7.0, 30.0])
        func seldom(gap: Double) throws {
            let world = try FleetWorld()
            try world.clock.run { () async throws in
                let members = Members(3, in: world)
                await members.open()
                members.fails.withLock { $0 = { _ in false } }
                try await world.clock.sleep(for: .seconds(5))
                await members.call(for: .seconds(gap * 2.5), every: .seconds(gap))
                #expect(members.states == Array(repeating: .closed, count: 3))
                let asked = world.asked.withLock { $0 }
                try await world.clock.sleep(for: .seconds(60))
                #expect(world.asked.withLock { $0 } - asked < 40)
            }
        }

        @Test(
            "a circuit that needs several successes closes, however rare its calls", arguments: [0.3, 1.5, 7.0])
        func several(gap: Double) throws {
            let world = try FleetWorld()
            try world.clock.run { () async throws in
                let members = Members(2, in: world, closing: .successes(3))
                await members.open()
                members.fails.withLock { $0 = { _ in false } }
                try await world.clock.sleep(for: .seconds(5))
                await members.call(for: .seconds(gap * 6.5), every: .seconds(gap))
                #expect(members.states == [.closed, .closed], "\(members.calls.all)")
            }
        }

        @Test("rare bursts of calls, even of slow calls, close a circuit", arguments: [0.03, 1.2], [4.0, 20])
        func volleys(length: Double, pause: Double) throws {
            let world = try FleetWorld()
            let clock = world.clock
            try clock.run { () async throws in
                let members = Members(3, in: world)
                await members.open()
                try await clock.sleep(for: .seconds(pause))
                for _ in 0..<4 {
                    for breaker in members.breakers {
                        for _ in 0..<3 {
                            try? await breaker.run { () async throws in try await clock.sleep(for: .seconds(length)) }
                        }
                    }
                    try await clock.sleep(for: .seconds(pause))
                }
                #expect(members.states == [.closed, .closed, .closed])
            }
        }

        @Test("while nobody calls, a failure is reported only once")
        func longWindow() throws {
            let world = try FleetWorld()
            let clock = world.clock
            try clock.run { () async throws in
                let breaker = CircuitBreaker("b", in: world.fleet(), sharing: FleetTripRule(window: .seconds(3_600)))
                try? await breaker.run { () async throws in throw Failed() }
                try await clock.sleep(for: .seconds(3))
                let asked = world.asked.withLock { $0 }
                #expect(asked > 0)
                try await clock.sleep(for: .seconds(60))
                #expect(world.asked.withLock { $0 } == asked)
            }
        }

        @Test("an unused breaker sends no questions")
        func idle() throws {
            let world = try FleetWorld()
            try world.clock.run { () async throws in
                let members = Members(2, in: world)
                await members.call(for: .seconds(2))
                try await world.clock.sleep(for: .seconds(20))
                let asked = world.asked.withLock { $0 }
                try await world.clock.sleep(for: .seconds(600))
                #expect(world.asked.withLock { $0 } == asked)
            }
        }
    }
#endif
