#if Redis
    import Resilience
    import ResilienceTesting
    import TestServers
    import TestSupport
    import Testing

    @testable import ResilienceFleet

    /// Whole fleets in simulated time: the real script on a real server, and each member like a process.
    @Suite(.enabled(if: RedisServer.isInstalled, Comment(rawValue: RedisServer.isMissing)))
    struct ThrottleFleetTests {
        /// Callers that call until a time, and the number of admitted calls, by member.
        func press(
            _ throttles: [Throttle], callers: Int, costs: [Int]? = nil, until end: Duration, on clock: ManualClock,
            pause: Duration = .milliseconds(5),
            gap: Duration? = nil
        ) async -> [Int] {
            let counts = Counts(throttles.count)
            let end = clock.now + end
            await withTaskGroup { group in
                for (index, throttle) in throttles.enumerated() {
                    let pipeline = Pipeline(timeBase: clock) { throttle }
                    let options = RunOptions(cost: costs?[index] ?? 1)
                    for caller in 0..<callers {
                        group.addTask(executorPreference: clock.taskExecutor) {
                            try? await clock.sleep(for: .microseconds(100 * caller + 10 * index))
                            while clock.now < end {
                                do {
                                    try await pipeline.run(options: options) { () async throws in counts.add(index) }
                                    if let gap { try? await clock.sleep(for: gap) }
                                } catch {
                                    try? await clock.sleep(for: pause)
                                }
                            }
                        }
                    }
                }
            }
            return counts.all
        }

        @Test("eight members that want ten times the limit get the limit within 2 %, in equal parts")
        func eightMembers() throws {
            let world = try FleetWorld()
            let clock = world.clock
            let counts = try clock.run { () async throws in
                let throttles = (0..<8).map { _ in
                    Throttle("t", limit: .perSecond(1_000, burst: 100), in: world.fleet(), maxWait: .seconds(1))
                }
                return await press(throttles, callers: 20, until: .seconds(10), on: clock)
            }
            let total = counts.reduce(0, +)
            // Calls that wait at the end are admitted too.
            let allowed = world.seconds * 1_000 + 100
            #expect(Double(total) <= allowed && Double(total) >= allowed * 0.98, "\(total) of \(allowed)")
            for count in counts { #expect(abs(count - total / 8) < total / 160, "\(counts)") }
            // At most one lot of permits for each fifth of a lease, not one lot per call.
            #expect(world.asked.withLock { $0 } < 8 * 52 * 10)
        }

        @Test(
            "members that reject at once use the whole limit together, and the member that wants less gets what it wants"
        )
        func rejecting() throws {
            let world = try FleetWorld()
            let clock = world.clock
            let counts = try clock.run { () async throws in
                let throttles = (0..<4).map { _ in
                    Throttle("t", limit: .perSecond(200, burst: 20), in: world.fleet())
                }
                async let few = press(
                    [throttles[3]], callers: 1, until: .seconds(10), on: clock, gap: .milliseconds(100))
                return await press(Array(throttles[..<3]), callers: 10, until: .seconds(10), on: clock) + few
            }
            let total = counts.reduce(0, +)
            let allowed = world.seconds * 200 + 20
            #expect(Double(total) <= allowed && Double(total) >= allowed * 0.97, "\(counts) of \(allowed)")
            #expect(counts[3] > 85, "\(counts)")
        }

        @Test("a single caller of a wide limit asks the engine once per lease, not once per call")
        func leases() throws {
            let world = try FleetWorld()
            let clock = world.clock
            let counts = try clock.run { () async throws in
                let throttle = Throttle("t", limit: .perSecond(10_000, burst: 100), in: world.fleet())
                return await press([throttle], callers: 1, until: .seconds(5), on: clock, gap: .milliseconds(1))
            }
            #expect(counts[0] > 4_500)
            #expect(world.asked.withLock { $0 } < 150)
        }

        @Test(
            "a call that only waits to learn whether permits exist needs no place in the queue", arguments: [0, 10])
        func smallQueue(queue: Int) throws {
            let world = try FleetWorld()
            let clock = world.clock
            try clock.run { () async throws in
                let throttle = Throttle("t", limit: .perSecond(1_000, burst: 200), in: world.fleet(), queue: queue)
                for _ in 0..<10 {
                    #expect(throttle.forecast().outcome == .waits(nil))
                    try await throttle.run { () async throws in }
                    try await clock.sleep(for: .milliseconds(250))
                }
                let went = Counts(1)
                await withTaskGroup { group in
                    for _ in 0..<50 {
                        group.addTask(executorPreference: clock.taskExecutor) {
                            if (try? await throttle.run { () async throws in }) != nil { went.add(0) }
                        }
                    }
                }
                #expect(went.all[0] == 50)
            }
        }

        @Test(
            "a smaller burst also lowers the number of permits at hand, and an unknown number of permits is not reported"
        )
        func smallerBurst() throws {
            let world = try FleetWorld()
            let clock = world.clock
            try clock.run { () async throws in
                let throttle = Throttle("t", limit: .perSecond(1_000, burst: 300), in: world.fleet())
                #expect(throttle.quota?.remaining == nil)
                _ = await press([throttle], callers: 8, until: .seconds(1), on: clock, gap: .milliseconds(1))
                throttle.setRate(ThrottleRate(1, per: .seconds(1)), burst: 1)
                var went = 0
                for _ in 0..<100 where (try? await throttle.run { () async throws in }) != nil { went += 1 }
                #expect(went <= 1)
            }
        }

        @Test("a hold that was ended by hand while the engine was away ends for the engine too")
        func holdEndedWhileAway() throws {
            let world = try FleetWorld()
            let clock = world.clock
            try clock.run { () async throws in
                let throttles = (0..<2).map { _ in Throttle("t", limit: .perSecond(100, burst: 10), in: world.fleet()) }
                throttles[0].hold(for: .seconds(20))
                try await clock.sleep(for: .milliseconds(500))
                world.isUp.withLock { $0 = false }
                _ = await press(throttles, callers: 1, until: .seconds(2), on: clock, gap: .milliseconds(50))
                for throttle in throttles { throttle.endHold() }
                #expect(
                    await press(throttles, callers: 1, until: .seconds(3), on: clock, gap: .milliseconds(50))[0] > 10)
                world.isUp.withLock { $0 = true }
                _ = await press(throttles, callers: 1, until: .seconds(6), on: clock, gap: .milliseconds(50))
                let counts = await press(throttles, callers: 1, until: .seconds(8), on: clock, gap: .milliseconds(50))
                #expect(counts.allSatisfy { $0 > 30 }, "\(counts)")
            }
        }

        @Test(
            "a call that costs more than one lot of permits gets its part despite cheap calls, with or without a window",
            arguments: [
                [.perSecond(10, burst: 5)], [.perSecond(10, burst: 5), .fixedWindow(100_000, per: .seconds(3_600))],
                [.perSecond(10, burst: 5), .slidingWindow(100_000, per: .seconds(3_600))],
            ] as [[ThrottleLimit]])
        func costly(limits: [ThrottleLimit]) throws {
            let world = try FleetWorld()
            let clock = world.clock
            let counts = try clock.run { () async throws in
                let throttles = (0..<2).map { _ in
                    Throttle(
                        "t", limit: limits[0], and: Array(limits.dropFirst()), in: world.fleet(), maxWait: .seconds(30))
                }
                return await press(throttles, callers: 1, costs: [5, 1], until: .seconds(30), on: clock)
            }
            #expect(counts[0] >= 25 && counts[1] >= 130, "\(counts)")
        }

        @Test(
            "a call that costs more than one lot of permits is admitted even if each answer belongs to another window"
        )
        func costlyInShortWindows() throws {
            let world = try FleetWorld()
            let clock = world.clock
            let counts = try clock.run { () async throws in
                let throttle = Throttle(
                    "t", limit: .perSecond(100, burst: 10), and: [.fixedWindow(100, per: .seconds(1))],
                    in: world.fleet(latency: .milliseconds(25)), maxWait: .seconds(30))
                return await press([throttle], callers: 1, costs: [8], until: .seconds(30), on: clock)
            }
            #expect((200...376).contains(counts[0]), "\(counts)")
        }

        @Test(
            "calls are admitted even if the window is shorter than an answer's time",
            arguments: [100, 200, 500], [1, 20, 45])
        func shortWindows(period: Int, latency: Int) throws {
            let world = try FleetWorld()
            let clock = world.clock
            let counts = try clock.run { () async throws in
                let throttle = Throttle(
                    "t", limit: .slidingWindow(10, per: .milliseconds(period)),
                    in: world.fleet(latency: .milliseconds(latency)), maxWait: .seconds(5))
                return await press([throttle], callers: 5, until: .seconds(10), on: clock)
            }
            let most = 10 * 10_000 / period
            #expect((most * 35 / 100...most + 10).contains(counts[0]), "\(counts) of \(most)")
        }

        @Test("without calls, no question is sent, and unused permits are given back")
        func idle() throws {
            let world = try FleetWorld()
            let clock = world.clock
            try clock.run { () async throws in
                let one = Throttle("t", limit: .fixedWindow(100, per: .seconds(3600)), in: world.fleet())
                for _ in 0..<20 {
                    try await one.run { () async throws in }
                    try await clock.sleep(for: .milliseconds(10))
                }
                try await clock.sleep(for: .seconds(2))
                let asked = world.asked.withLock { $0 }
                try await clock.sleep(for: .seconds(600))
                #expect(world.asked.withLock { $0 } == asked)
                #expect(one.isAtRest)
                let other = Throttle(
                    "t", limit: .fixedWindow(100, per: .seconds(3600)), in: world.fleet(), maxWait: .seconds(1))
                var went = 0
                for _ in 0..<100 { if (try? await other.run { () async throws in }) != nil { went += 1 } }
                #expect(went == 80)
            }
        }

        @Test(
            "members that are cut off use their parts in addition to the limit that the others share; with `closed`, no permits",
            arguments: [FleetFallback.localShare, .closed], [1, 3])
        func partition(fallback: FleetFallback, cut: Int) throws {
            let world = try FleetWorld()
            let clock = world.clock
            let isCut = Locked(false)
            let counts = try clock.run { () async throws in
                let throttles = (0..<4).map { index in
                    let fleet = world.fleet(isGone: { index < cut && isCut.withLock { $0 } })
                    return Throttle("t", limit: .perSecond(100, burst: 20), in: fleet, whenAway: fallback)
                }
                var totals: [Int] = []
                // The link is cut twice, each time for longer than the engine remembers a member.
                for length in [2, 25, 4, 25, 4] {
                    isCut.withLock { $0 = length == 25 }
                    // Until all members have noticed.
                    _ = await press(throttles, callers: 5, until: .seconds(2), on: clock)
                    totals.append(
                        await press(throttles, callers: 5, until: .seconds(length), on: clock).reduce(0, +) / length)
                }
                return totals
            }
            let both = fallback == .closed ? 100 : 100 + 25 * cut
            for (index, bound) in [100, both, 100, both, 100].enumerated() {
                #expect((bound * 95 / 100...bound + 10).contains(counts[index]), "\(counts) of \(bound)")
            }
        }

        @Test(
            "if one permit per second is taken by hand, only the first try fails; after the last, no question is sent",
            arguments: [
                [.perSecond(100, burst: 10)], [.fixedWindow(100, per: .seconds(3_600))],
                [.fixedWindow(1, per: .seconds(1))], [.slidingWindow(100, per: .seconds(3_600))],
                [.slidingWindow(100, per: .seconds(60))], [.slidingWindow(5, per: .seconds(1))],
                [.perSecond(100, burst: 10), .fixedWindow(100, per: .seconds(3_600))],
            ] as [[ThrottleLimit]])
        func byHand(limits: [ThrottleLimit]) throws {
            let world = try FleetWorld()
            let clock = world.clock
            try clock.run { () async throws in
                let throttle = Throttle("t", limit: limits[0], and: Array(limits.dropFirst()), in: world.fleet())
                // Avoids the times when the permits at hand end and are renewed.
                try await clock.sleep(for: .milliseconds(347))
                for _ in 0..<2 {
                    var missed: [Int] = []
                    for second in 0..<10 {
                        do {
                            let permit = try throttle.tryAcquire()
                            permit.complete(.success)
                        } catch {
                            missed.append(second)
                        }
                        try await clock.sleep(for: .seconds(1))
                    }
                    #expect(missed == [0])
                    try await clock.sleep(for: .seconds(3))
                    let asked = world.asked.withLock { $0 }
                    try await clock.sleep(for: .seconds(600))
                    #expect(world.asked.withLock { $0 } == asked)
                }
            }
        }

        @Test("each throttle reports what is left of the shared limit, until the throttle was unused for a second")
        func quota() throws {
            let world = try FleetWorld()
            let clock = world.clock
            try clock.run { () async throws in
                let limit = ThrottleLimit.fixedWindow(100, per: .seconds(3_600))
                let throttles = (0..<2).map { _ in Throttle("t", limit: limit, in: world.fleet()) }
                #expect(throttles[0].quota?.remaining == nil)
                for (index, throttle) in throttles.enumerated() {
                    // The other process returns its unused permits.
                    try await clock.sleep(for: .milliseconds(500))
                    for _ in 0..<10 { try await throttle.run { () async throws in } }
                    #expect(throttle.quota?.remaining == 90 - 10 * index)
                }
                try await clock.sleep(for: .seconds(2))
                #expect(throttles[1].quota?.remaining == nil)
            }
        }

        @Test(
            "the reported remaining count never exceeds the limit, even if permits lie unused or calls run unlimited",
            arguments: FleetFallback.allCases)
        func quotaIsBounded(fallback: FleetFallback) throws {
            let world = try FleetWorld()
            let clock = world.clock
            try clock.run { () async throws in
                let limit = ThrottleLimit.fixedWindow(20, per: .seconds(3_600))
                let throttles = (0..<2).map { _ in Throttle("t", limit: limit, in: world.fleet(), whenAway: fallback) }
                for _ in 0..<3 {
                    for throttle in throttles { try await throttle.run { () async throws in } }
                    #expect(throws: WouldWait.self) { while true { _ = try throttles[0].tryAcquire() } }
                    try await clock.sleep(for: .milliseconds(50))
                    throttles[1].reset()
                    try await clock.sleep(for: .milliseconds(10))
                    // The other process holds permits in addition to what is left of an unused limit.
                    try await throttles[0].run { () async throws in }
                    try await clock.sleep(for: .milliseconds(10))
                    for throttle in throttles { #expect(throttle.quota?.remaining ?? 0 <= 20) }
                }
                world.isUp.withLock { $0 = false }
                for _ in 0..<30 {
                    try? await throttles[0].run { () async throws in }
                    #expect(throttles[0].quota?.remaining ?? 0 <= 20)
                    try await clock.sleep(for: .milliseconds(50))
                }
            }
        }

        @Test("permits held for calls by hand go to the other process a few leases later; the remaining count is right")
        func byHandAndOthers() throws {
            let world = try FleetWorld()
            let clock = world.clock
            try clock.run { () async throws in
                for (name, limit) in [
                    ("fixed", ThrottleLimit.fixedWindow(3, per: .seconds(36_000))),
                    ("sliding", .slidingWindow(3, per: .seconds(36_000))),
                ] {
                    let throttles = (0..<2).map { _ in Throttle(name, limit: limit, in: world.fleet()) }
                    #expect(throws: WouldWait.self) { _ = try throttles[0].tryAcquire() }
                    try await clock.sleep(for: .milliseconds(10))
                    #expect(throttles[0].quota?.remaining == 3)
                    for _ in 0..<2 { try await throttles[1].run { () async throws in } }
                    await #expect(throws: ThrottleExceeded.self) { try await throttles[1].run { () async throws in } }
                    try await clock.sleep(for: .seconds(3))
                    try await throttles[1].run { () async throws in }
                    #expect(throws: WouldWait.self) { _ = try throttles[0].tryAcquire() }
                    try await clock.sleep(for: .milliseconds(10))
                    #expect(throttles[0].quota?.remaining == 0)
                }
            }
        }

        @Test("a reset in one process resets all")
        func reset() throws {
            let world = try FleetWorld()
            let clock = world.clock
            try clock.run { () async throws in
                let limit = ThrottleLimit.slidingWindow(10, per: .seconds(3_600))
                let throttles = (0..<2).map { _ in Throttle("t", limit: limit, in: world.fleet(), holdOnThrottled: true)
                }
                for _ in 0..<10 { try await throttles[0].run { () async throws in } }
                for throttle in throttles {
                    await #expect(throws: ThrottleExceeded.self) { try await throttle.run { () async throws in } }
                }
                throttles[0].hold(for: .seconds(100))
                try await clock.sleep(for: .seconds(10))
                throttles[1].reset()
                // The other process learns with its next call that the hold has ended.
                _ = try? await throttles[0].run { () async throws in }
                for _ in 0..<5 {
                    for throttle in throttles {
                        try await clock.sleep(for: .seconds(2))
                        try await throttle.run { () async throws in }
                    }
                }
                await #expect(throws: ThrottleExceeded.self) { try await throttles[0].run { () async throws in } }
            }
        }

        @Test("if one of several limits rejects a call, the call uses no permit of the other limits")
        func severalLimits() throws {
            let world = try FleetWorld()
            let clock = world.clock
            try clock.run { () async throws in
                let fleet = world.fleet()
                let wide = Throttle("all", limit: .fixedWindow(20, per: .seconds(3_600)), in: fleet)
                let narrow = Throttle("one", limit: .fixedWindow(5, per: .seconds(3_600)), in: fleet)
                let pipeline = Pipeline(timeBase: clock) {
                    wide
                    narrow
                }
                var went = 0
                for _ in 0..<50 {
                    if (try? await pipeline.run { () async throws in }) != nil { went += 1 }
                    try await clock.sleep(for: .milliseconds(500))
                }
                #expect(went == 5)
                for _ in 0..<50 {
                    if (try? await wide.run { () async throws in }) != nil { went += 1 }
                }
                #expect(went == 20)
            }
        }

        /// Ten callers of each throttle that call until a time, and the times of their admitted calls.
        private func timesOfCalls(_ throttles: [Throttle], until end: Duration, on world: FleetWorld) async
            -> [Duration]
        {
            let clock = world.clock
            let began = clock.now
            world.log.withLock { $0 = [] }
            await withTaskGroup { group in
                for throttle in throttles {
                    for caller in 0..<10 {
                        group.addTask(executorPreference: clock.taskExecutor) {
                            while began.duration(to: clock.now) < end {
                                _ = try? await throttle.run { () async throws in
                                    world.log.withLock { $0.append((caller, clock.now)) }
                                }
                            }
                        }
                    }
                }
            }
            return world.log.withLock { $0 }.map { began.duration(to: $0.time) }.filter { $0 < end }
        }

        @Test("calls that wait for several limits at once exceed none of them, with and without the engine")
        func severalLimitsAtOnce() throws {
            let world = try FleetWorld()
            let clock = world.clock
            try clock.run { () async throws in
                let limits: (ThrottleLimit, ThrottleLimit) = (
                    .perSecond(10, burst: 2), .fixedWindow(60, per: .seconds(20))
                )
                let throttles = (0..<2).map { _ in
                    Throttle(
                        "t", limit: limits.1, and: [limits.0, .unlimited], in: world.fleet(), maxWait: .seconds(30))
                }
                #expect(throttles[0].settings.limit == limits.0)
                // Begins with a window of the engine's clock, passes the beginnings of two more, then repeats without
                // the engine.
                let tooFar = clock.now.nanoseconds % 20_000_000_000
                try await clock.sleep(for: .seconds(20) - .nanoseconds(tooFar))
                for isUp in [true, false] {
                    world.isUp.withLock { $0 = isUp }
                    let times = await timesOfCalls(throttles, until: .seconds(50), on: world)
                    #expect((isUp ? 170...180 : 130...182).contains(times.count), "\(times.count)")
                    for (index, time) in times.enumerated() {
                        let second = times[index...].prefix { $0 < time + .seconds(1) }.count
                        #expect(second <= 10 + 2 + 2, "\(second) from \(time)")
                    }
                    try await clock.sleep(for: .seconds(10))
                }
            }
        }

        struct TooMany: Error, VerdictConvertible { let verdict = Verdict.throttled(retryAfter: .seconds(3)) }

        @Test(
            "a 429 to one process holds all processes within a lease; one call probes, then all are admitted",
            arguments: 1...5 as ClosedRange<UInt64>)
        func gate(seed: UInt64) throws {
            let world = try FleetWorld()
            let clock = world.clock
            let start = clock.now
            try clock.run(seed: seed) { () async throws in
                let throttles = (0..<4).map { _ in
                    Throttle(
                        "t", limit: .perSecond(100, burst: 10), in: world.fleet(), maxWait: .seconds(60),
                        holdOnThrottled: true)
                }
                await withTaskGroup { group in
                    for (index, throttle) in throttles.enumerated() {
                        for _ in 0..<5 {
                            group.addTask(executorPreference: clock.taskExecutor) {
                                while clock.now < start + .seconds(10) {
                                    try? await throttle.run { () async throws in
                                        let now = clock.now
                                        world.log.withLock { $0.append((index, now)) }
                                        try await clock.sleep(for: .milliseconds(20))
                                        // The service is overloaded from 2 to 4 s.
                                        if now >= start + .seconds(2), now < start + .seconds(4) { throw TooMany() }
                                    }
                                }
                            }
                        }
                    }
                }
            }
            let log = world.log.withLock { $0 }
            // The first 429 comes at 2.02 s at the latest, and is reported within a lease and an exchange.
            let overload = log.filter {
                $0.time > start + .milliseconds(2_150) && $0.time < start + .milliseconds(4_990)
            }
            #expect(overload.isEmpty, "\(overload.count)")
            // From 5 s on one call probes, and no other call runs until it has ended.
            let probes = log.filter { $0.time >= start + .seconds(5) && $0.time < start + .milliseconds(5_020) }
            #expect(probes.count <= 1)
            let rest = log.filter { $0.time >= start + .seconds(5) && $0.time < start + .seconds(10) }
            #expect((420...510).contains(rest.count), "\(rest.count)")
            for member in 0..<4 { #expect(rest.count { $0.member == member } > 80) }
        }

        /// The longest time until a call was admitted or rejected.
        func longest(_ throttles: [Throttle], until end: Duration, on world: FleetWorld, went: Counts) async -> Duration
        {
            let clock = world.clock
            let (end, longest) = (clock.now + end, Longest())
            await withTaskGroup { group in
                for (index, throttle) in throttles.enumerated() {
                    for caller in 0..<5 {
                        group.addTask(executorPreference: clock.taskExecutor) {
                            try? await clock.sleep(for: .milliseconds(caller * 3 + index))
                            while clock.now < end {
                                let began = clock.now
                                do {
                                    try await throttle.run { () async throws in went.add(index) }
                                } catch {}
                                longest.note(began.duration(to: clock.now))
                                try? await clock.sleep(for: .milliseconds(10))
                            }
                        }
                    }
                }
            }
            return longest.value
        }

        final class Longest: Sendable {
            private let state = Locked(Duration.zero)
            var value: Duration { state.withLock { $0 } }
            func note(_ time: Duration) { state.withLock { $0 = max($0, time) } }
        }

        @Test(
            "until the engine is back, each limit uses its fallback, and no call waits for the engine",
            arguments: FleetFallback.allCases, [false, true])
        func away(fallback: FleetFallback, hangs: Bool) throws {
            let world = try FleetWorld()
            let clock = world.clock
            let (before, during, after) = (Counts(4), Counts(4), Counts(4))
            try clock.run { () async throws in
                let throttles = (0..<4).map { _ in
                    Throttle("t", limit: .perSecond(100, burst: 20), in: world.fleet(hangs: hangs), whenAway: fallback)
                }
                let early = await longest(throttles, until: .seconds(5), on: world, went: before)
                #expect(early <= .milliseconds(110))
                world.isUp.withLock { $0 = false }
                let late = await longest(throttles, until: .seconds(10), on: world, went: during)
                #expect(late <= .milliseconds(110))
                world.isUp.withLock { $0 = true }
                // The breaker retries within a second.
                try await clock.sleep(for: .seconds(2))
                let back = await longest(throttles, until: .seconds(5), on: world, went: after)
                #expect(back <= .milliseconds(110))
            }
            let counts = [before, during, after].map { $0.all.reduce(0, +) }
            #expect((480...540).contains(counts[0]), "\(counts)")
            #expect((480...540).contains(counts[2]), "\(counts)")
            switch fallback {
            // One more burst each time at most, plus the leased permits.
            case .localShare: #expect((930...1_045).contains(counts[1]), "\(counts)")
            case .open: #expect(counts[1] > 15_000, "\(counts)")
            case .closed: #expect(counts[1] < 60, "\(counts)")
            }
        }
    }
#endif
