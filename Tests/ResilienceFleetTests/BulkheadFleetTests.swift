#if Redis
    import Resilience
    import ResilienceTesting
    import TestServers
    import TestSupport
    import Testing

    @testable import ResilienceFleet

    @Suite(.enabled(if: RedisServer.isInstalled, Comment(rawValue: RedisServer.isMissing)))
    struct BulkheadFleetTests {
        /// How many calls run, by member.
        final class Running: Sendable {
            private let state: Locked<(now: [Int], most: Int, ended: [Int])>

            init(_ members: Int) {
                let none = [Int](repeating: 0, count: members)
                state = Locked((none, 0, none))
            }

            func began(_ member: Int) {
                state.withLock { state in
                    state.now[member] += 1
                    state.most = max(state.most, state.now.reduce(0, +))
                }
            }

            func ended(_ member: Int) {
                state.withLock { state in
                    state.now[member] -= 1
                    state.ended[member] += 1
                }
            }

            /// The highest concurrency since this was last called, and how many calls have ended since then.
            func take() -> (most: Int, ended: [Int]) {
                state.withLock { state in
                    defer { (state.most, state.ended) = (state.now.reduce(0, +), state.ended.map { _ in 0 }) }
                    return (state.most, state.ended)
                }
            }
        }

        /// Callers whose calls take 50 ms.
        func press(
            _ bulkheads: [Bulkhead], callers: [Int], for time: Duration, in world: FleetWorld, _ running: Running
        ) async {
            let clock = world.clock
            let end = clock.now + time
            await withTaskGroup { group in
                for (index, bulkhead) in bulkheads.enumerated() {
                    for caller in 0..<callers[index] {
                        group.addTask(executorPreference: clock.taskExecutor) {
                            try? await clock.sleep(for: .microseconds(caller * 700 + index))
                            while clock.now < end {
                                do {
                                    try await bulkhead.run { () async throws in
                                        running.began(index)
                                        defer { running.ended(index) }
                                        try await clock.sleep(for: .milliseconds(50))
                                    }
                                } catch {
                                    try? await clock.sleep(for: .milliseconds(10))
                                }
                            }
                        }
                    }
                }
            }
        }

        @Test("calls use all of the limit and never exceed it, and members that want more get equal parts")
        func parts() throws {
            let world = try FleetWorld()
            let running = Running(4)
            try world.clock.run { () async throws in
                let bulkheads = (0..<4).map { _ in Bulkhead("b", limit: 20, in: world.fleet(), queue: 100) }
                await press(bulkheads, callers: [20, 20, 20, 2], for: .seconds(2), in: world, running)
                _ = running.take()
                await press(bulkheads, callers: [20, 20, 20, 2], for: .seconds(10), in: world, running)
                let (most, ended) = running.take()
                #expect(most <= 20)
                // 20 calls at a time, of 50 ms each, are 4 000 in 10 s; a member that wants 2 permits gets 2.
                #expect(ended.reduce(0, +) > 3_700, "\(ended)")
                #expect(ended[3] > 380, "\(ended)")
                for member in 0..<3 { #expect((950...1_350).contains(ended[member]), "\(ended)") }
            }
        }

        @Test("other processes get the permits that a process no longer needs, and the part of a process that is gone")
        func handedOver() throws {
            let world = try FleetWorld()
            let running = Running(3)
            try world.clock.run { () async throws in
                let gone = Locked2(false)
                let bulkheads = (0..<3).map { index in
                    Bulkhead("b", limit: 12, in: world.fleet(isGone: { index == 0 && gone.value }), queue: 100)
                }
                await press(bulkheads, callers: [20, 20, 0], for: .seconds(3), in: world, running)
                #expect(running.take().most <= 12)
                // From now on the first process stands still, and sends nothing.
                gone.value = true
                try await world.clock.sleep(for: .milliseconds(1_200))
                _ = running.take()
                async let pressed: Void = press(
                    Array(bulkheads[1...]), callers: [20, 20], for: .seconds(5), in: world, Running(2))
                try await world.clock.sleep(for: .seconds(4))
                #expect(bulkheads[1].status.limit == 6 && bulkheads[2].status.limit == 6)
                await pressed
            }
        }

        @Test("an answer that is lost or late never gives away a permit that another member uses")
        func lostAnswers() throws {
            let world = try FleetWorld()
            let running = Running(2)
            try world.clock.run { () async throws in
                let lost = Locked2(false)
                let bulkheads = (0..<2).map { index in
                    Bulkhead("b", limit: 10, in: world.fleet(losing: { index == 0 && lost.value }), queue: 100)
                }
                await press(bulkheads, callers: [20, 0], for: .seconds(1), in: world, running)
                try await world.clock.sleep(for: .milliseconds(200))
                // The first process asked for fewer permits, and the answer is lost.
                lost.value = true
                try await world.clock.sleep(for: .milliseconds(200))
                await press(bulkheads, callers: [20, 20], for: .milliseconds(600), in: world, running)
                #expect(running.take().most <= 10)
            }
        }

        @Test("with more processes than permits, a process gets the permit it needs from an idle process")
        func fewPermits() throws {
            let world = try FleetWorld()
            try world.clock.run { () async throws in
                let bulkheads = (0..<3).map { _ in Bulkhead("b", limit: 1, in: world.fleet(), queue: 10) }
                for _ in 0..<3 {
                    for bulkhead in bulkheads {
                        try await world.clock.sleep(for: .seconds(1))
                        let deadline = world.clock.now + .seconds(5)
                        try await bulkhead.run(options: RunOptions(deadline: deadline)) { () async throws in }
                    }
                }
            }
        }

        @Test("a question that arrives after a later question of the same process takes no permits from that process")
        func lateQuestion() throws {
            let world = try FleetWorld()
            let running = Running(2)
            try world.clock.run { () async throws in
                let delays = Locked(0)
                let bulkheads = (0..<2).map { index in
                    let fleet = world.fleet(delaying: {
                        let isDelayed = index == 0 && delays.withLock { $0 == 1 }
                        if isDelayed { delays.withLock { $0 = 2 } }
                        return isDelayed ? .milliseconds(900) : nil
                    })
                    return Bulkhead("b", limit: 10, in: fleet, queue: 100)
                }
                try await world.clock.sleep(for: .seconds(3))
                // One question of the idle process is delayed until the process uses all permits but one.
                delays.withLock { $0 = 1 }
                while delays.withLock({ $0 }) == 1 { try await world.clock.sleep(for: .milliseconds(10)) }
                await press(bulkheads, callers: [20, 0], for: .milliseconds(600), in: world, running)
                _ = running.take()
                await press(bulkheads, callers: [20, 20], for: .seconds(2), in: world, running)
                #expect(running.take().most <= 10)
            }
        }

        @Test("a process keeps one permit, however many the others want")
        func one() throws {
            let world = try FleetWorld()
            let clock = world.clock
            try clock.run { () async throws in
                let busy = Bulkhead("b", limit: 10, in: world.fleet(), queue: 100)
                let idle = Bulkhead("b", limit: 10, in: world.fleet())
                async let pressed: Void = press([busy], callers: [30], for: .seconds(20), in: world, Running(1))
                try await clock.sleep(for: .seconds(3))
                for _ in 0..<5 {
                    try await idle.run { () async throws in }
                    try await clock.sleep(for: .seconds(3))
                }
                await pressed
            }
        }

        @Test("a bulkhead that is gone gives up its part at once")
        func dropped() throws {
            let world = try FleetWorld()
            let clock = world.clock
            try clock.run { () async throws in
                for pause in [0.1, 3.0, 0.1] {
                    let bulkhead = Bulkhead("b", limit: 1, in: world.fleet(), queue: 10)
                    try await clock.sleep(for: .milliseconds(10))
                    let deadline = clock.now + .milliseconds(300)
                    try await bulkhead.run(options: RunOptions(deadline: deadline)) { () async throws in }
                    try await clock.sleep(for: .seconds(pause))
                }
            }
        }

        @Test("an engine that restarts without data, and is gone again at once, enlarges no part")
        func emptiedAndGone() throws {
            let world = try FleetWorld()
            try world.clock.run { () async throws in
                let bulkheads = (0..<6).map { _ in Bulkhead("b", limit: 12, in: world.fleet(), queue: 100) }
                try await world.clock.sleep(for: .seconds(1))
                _ = try world.bench.command("FLUSHALL")
                // Each process asks once.
                try await world.clock.sleep(for: .milliseconds(2_100))
                world.isUp.withLock { $0 = false }
                try await world.clock.sleep(for: .seconds(8))
                #expect(bulkheads.map(\.status.limit) == [2, 2, 2, 2, 2, 2])
            }
        }

        @Test(
            "until they are back, cut-off processes use their parts in addition to the limit that the others share (P79)"
        )
        func partition() throws {
            let world = try FleetWorld()
            try world.clock.run { () async throws in
                let cut = Locked2(false)
                let bulkheads = (0..<4).map { index in
                    Bulkhead("b", limit: 20, in: world.fleet(isGone: { index < 2 && cut.value }), queue: 100)
                }
                let callers = [20, 20, 20, 20]
                await press(bulkheads, callers: callers, for: .seconds(1), in: world, Running(4))
                for _ in 0..<2 {
                    cut.value = true
                    await press(bulkheads, callers: callers, for: .seconds(3), in: world, Running(4))
                    async let pressed: Void = press(
                        bulkheads, callers: callers, for: .seconds(20), in: world, Running(4))
                    try await world.clock.sleep(for: .seconds(19))
                    #expect(bulkheads.map(\.status.limit) == [5, 5, 10, 10])
                    await pressed
                    cut.value = false
                    await press(bulkheads, callers: callers, for: .seconds(4), in: world, Running(4))
                    let running = Running(4)
                    await press(bulkheads, callers: callers, for: .seconds(3), in: world, running)
                    #expect(running.take().most <= 20)
                }
            }
        }

        final class Locked2: Sendable {
            private let state: Locked<Bool>
            init(_ value: Bool) { state = Locked(value) }
            var value: Bool {
                get { state.withLock { $0 } }
                set { state.withLock { $0 = newValue } }
            }
        }

        @Test(
            "while the engine is away each process keeps its part, then uses its fallback, until the engine is back",
            arguments: FleetFallback.allCases)
        func away(fallback: FleetFallback) throws {
            let world = try FleetWorld()
            let running = Running(4)
            try world.clock.run { () async throws in
                let bulkheads = (0..<4).map { _ in
                    Bulkhead("b", limit: 20, in: world.fleet(), whenAway: fallback, queue: 100)
                }
                let callers = [20, 20, 20, 20]
                await press(bulkheads, callers: callers, for: .seconds(2), in: world, running)
                #expect(running.take().most <= 20)
                world.isUp.withLock { $0 = false }
                await press(bulkheads, callers: callers, for: .milliseconds(500), in: world, running)
                #expect(running.take().most <= 20)
                try await world.clock.sleep(for: .seconds(2))
                let limits = bulkheads.map(\.status.limit)
                switch fallback {
                case .localShare: #expect(limits == [5, 5, 5, 5])
                case .open: #expect(limits.allSatisfy { $0 > 1_000_000 })
                case .closed: #expect(limits == [0, 0, 0, 0])
                }
                world.isUp.withLock { $0 = true }
                try await world.clock.sleep(for: .seconds(3))
                _ = running.take()
                await press(bulkheads, callers: callers, for: .seconds(3), in: world, running)
                let (most, ended) = running.take()
                #expect(most <= 20)
                #expect(ended.reduce(0, +) > 1_000)
            }
        }
    }

    @Suite(.enabled(if: RedisServer.isInstalled, Comment(rawValue: RedisServer.isMissing)))
    struct BudgetFleetTests {
        struct Failed: Error, VerdictConvertible { var verdict: Verdict { .transient } }

        /// Calls that all fail or all succeed, and how often the operation ran.
        func attempts(_ pipelines: [Pipeline], calls: Int, fail: Bool, on clock: ManualClock) async -> Int {
            let counts = Counts(1)
            for _ in 0..<calls {
                for pipeline in pipelines {
                    try? await pipeline.run { () async throws in
                        counts.add(0)
                        if fail { throw Failed() }
                    }
                }
                try? await clock.sleep(for: .milliseconds(50))
            }
            return counts.all[0]
        }

        func pipelines(_ count: Int, in world: FleetWorld, whenAway fallback: FleetFallback = .localShare) -> [Pipeline]
        {
            (0..<count).map { _ in
                let budget = RetryBudget.tokens("r", in: world.fleet(), whenAway: fallback, capacity: 140)
                return Pipeline(timeBase: world.clock) {
                    Retry(maxRetries: 3, backoff: .constant(.milliseconds(200)), budget: budget)
                }
            }
        }

        @Test("all processes share one budget, and successes refill it for all")
        func shared() throws {
            let world = try FleetWorld()
            let clock = world.clock
            try clock.run { () async throws in
                let pipelines = pipelines(4, in: world)
                try await clock.sleep(for: .milliseconds(10))
                let failing = await attempts(pipelines, calls: 30, fail: true, on: clock)
                // 140 tokens pay for 10 retries at 14 tokens each. Idle processes may hold up to two parts of them.
                #expect((126...130).contains(failing), "\(failing)")
                // 70 successes of one process refill 70 tokens, and other processes use them.
                _ = await attempts([pipelines[0]], calls: 70, fail: false, on: clock)
                try await clock.sleep(for: .seconds(1))
                let later = await attempts([pipelines[1]], calls: 30, fail: true, on: clock)
                #expect((33...36).contains(later), "\(later)")
            }
        }

        @Test("other processes get the tokens that a removed budget or an idle process holds")
        func atHand() throws {
            let world = try FleetWorld()
            let clock = world.clock
            try clock.run { () async throws in
                for _ in 0..<60 {
                    let budget = RetryBudget.tokens("r", in: world.fleet(), capacity: 140)
                    try await clock.sleep(for: .milliseconds(20))
                    #expect(!budget.isExhausted)
                }
                let idle = pipelines(20, in: world)
                try await clock.sleep(for: .seconds(11))
                let failing = await attempts(pipelines(1, in: world), calls: 30, fail: true, on: clock)
                #expect((38...40).contains(failing), "\(failing)")
                _ = idle.count
            }
        }

        @Test("a process that found the budget full, and then was idle, reports its successes again")
        func fullAndIdle() throws {
            let world = try FleetWorld()
            let clock = world.clock
            try clock.run { () async throws in
                let pipelines = pipelines(2, in: world)
                for round in 0..<2 {
                    _ = await attempts([pipelines[0]], calls: 150, fail: false, on: clock)
                    try await clock.sleep(for: .seconds(5))
                    let failing = await attempts([pipelines[1]], calls: 30, fail: true, on: clock)
                    #expect(failing >= 38, "\(failing) in round \(round)")
                }
            }
        }

        @Test("huge numbers do not trap, and the engine does not seem away", arguments: [1 << 61, 1 << 62, Int.max])
        func huge(number: Int) throws {
            let world = try FleetWorld()
            let clock = world.clock
            try clock.run { () async throws in
                for (capacity, cost, throttledCost) in [
                    (number, number, number), (500, number, 5), (500, 14, number), (number, 14, 5),
                ] {
                    let fleet = world.fleet()
                    let budget = RetryBudget.tokens(
                        "\(capacity) \(cost)", in: fleet, capacity: capacity, cost: cost, throttledCost: throttledCost)
                    let pipeline = Pipeline(timeBase: clock) { Retry(backoff: .constant(.zero), budget: budget) }
                    for isDown in [false, true] {
                        world.isUp.withLock { $0 = !isDown }
                        _ = await attempts([pipeline], calls: 10, fail: true, on: clock)
                        _ = await attempts([pipeline], calls: 10, fail: false, on: clock)
                        #expect(fleet.isAway == isDown)
                    }
                    world.isUp.withLock { $0 = true }
                }
            }
        }

        @Test("while the engine is away, successes refill each process's tokens, up to its part")
        func away() throws {
            let world = try FleetWorld()
            let clock = world.clock
            try clock.run { () async throws in
                let pipelines = pipelines(2, in: world)
                try await clock.sleep(for: .milliseconds(10))
                _ = await attempts(pipelines, calls: 30, fail: true, on: clock)
                world.isUp.withLock { $0 = false }
                _ = await attempts(pipelines, calls: 200, fail: false, on: clock)
                // Each process has 70 tokens, which pay for 5 retries.
                let failing = await attempts(pipelines, calls: 30, fail: true, on: clock)
                #expect((66...70).contains(failing), "\(failing)")
                world.isUp.withLock { $0 = true }
                _ = await attempts(pipelines, calls: 200, fail: false, on: clock)
                #expect(await attempts([pipelines[0]], calls: 30, fail: true, on: clock) >= 37)
            }
        }
    }
#endif
