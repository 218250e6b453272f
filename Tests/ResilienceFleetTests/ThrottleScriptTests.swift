#if Redis
    import Resilience
    import ResilienceTesting
    import TestServers
    import TestSupport
    import Testing

    @testable import ResilienceFleet

    /// The script's decisions, on a real server and the test's clock.
    @Suite(.enabled(if: RedisServer.isInstalled, Comment(rawValue: RedisServer.isMissing)))
    struct ThrottleScriptTests {
        let bench: ScriptBench
        let start = MonotonicInstant(nanoseconds: 1_700_000_000_000_000_000)

        init() throws { bench = try ScriptBench() }

        func ask(
            _ wanted: Int, by member: String = "a", of limit: ThrottleLimit, and others: [ThrottleLimit] = [],
            after time: Duration = .zero, lease: Duration = .milliseconds(100), ramp: Duration = .zero,
            _ change: (inout LeaseStateMachine.Ask) -> Void = { _ in }
        ) throws -> LeaseAnswer {
            let now = start + time
            var ask = LeaseStateMachine.Ask(wanted: wanted, time: now)
            change(&ask)
            let arguments = ask.arguments(
                member: member, limits: [limit] + others, ramp: ramp, lease: lease, engineLimit: lease / 2)
            let words = try bench.run(.throttle, "k", arguments, at: now.nanoseconds / 1_000)
            return try #require(LeaseAnswer(words, to: ask), "\(words)")
        }

        @Test("a script's hash matches its source")
        func hash() throws {
            for script in [EngineScript.throttle, .breaker, .bulkhead, .budget] {
                #expect(try bench.command("SCRIPT", "LOAD", script.source) == .text(script.sha1))
            }
        }

        @Test("a rate grants its burst, and then the inflow")
        func rate() throws {
            let limit = ThrottleLimit.perSecond(100, burst: 20)
            let first = try ask(50, of: limit)
            #expect(first.granted == 20)
            #expect(first.wait == .milliseconds(10))
            #expect(try ask(50, of: limit, after: .milliseconds(9)).granted == 0)
            #expect(try ask(50, of: limit, after: .milliseconds(50)).granted == 5)
            #expect(try ask(50, of: limit, after: .seconds(1000)).granted == 20)
        }

        @Test("a lease can grant all permits that flow in during it, even more than the burst")
        func burstOfALease() throws {
            #expect(try ask(500, of: .perSecond(1000, burst: 1)).granted == 100)
        }

        @Test("returned permits are available again, up to the burst")
        func givenBack() throws {
            let limit = ThrottleLimit.perSecond(10, burst: 10)
            #expect(try ask(10, of: limit).granted == 10)
            #expect(try ask(10, of: limit) { $0.returned = 4 }.granted == 4)
            #expect(try ask(99, of: limit) { $0.returned = 99 }.granted == 10)
        }

        @Test(
            "after a reset everything is available, and permits of an earlier lot add nothing",
            arguments: [
                .perSecond(10, burst: 10), .fixedWindow(10, per: .seconds(60)), .slidingWindow(10, per: .seconds(60)),
            ] as [ThrottleLimit])
        func reset(limit: ThrottleLimit) throws {
            let first = try ask(8, of: limit)
            #expect((first.granted, first.free) == (8, 2))
            #expect(try ask(8, by: "b", of: limit, after: .milliseconds(1)).granted == 2)
            let reset = try ask(4, of: limit, after: .milliseconds(2)) {
                ($0.isReset, $0.returned, $0.returnedMark) = (true, 3, first.mark)
            }
            #expect((reset.granted, reset.free) == (4, 6))
            #expect(try ask(20, of: limit, after: .milliseconds(3)).granted == 6)
            #expect(try ask(1, of: limit, after: .milliseconds(4)).free == 0)
        }

        @Test("members that want more than the limit get equal parts, and a member that wants less gets what it wants")
        func fairness() throws {
            let limit = ThrottleLimit.perSecond(800, burst: 80)
            var got = [Int](repeating: 0, count: 8)
            // The last member wants 2 per second, and asks again for what it did not get.
            var missing = 0
            for step in 0..<1_000 {
                if step % 50 == 0 { missing += 1 }
                for member in 0..<8 where member < 7 || missing > 0 {
                    let granted = try ask(
                        member < 7 ? 40 : missing, by: "m\(member)", of: limit,
                        after: .milliseconds(10 * step) + .microseconds(member)
                    ).granted
                    got[member] += granted
                    if member == 7 { missing -= granted }
                }
            }
            #expect(got[7] == 20)
            let total = got.reduce(0, +)
            #expect((7_980...8_120).contains(total))
            for member in 0..<7 { #expect(abs(got[member] - (total - 20) / 7) < 60, "\(got)") }
        }

        @Test("each window of the engine's clock grants the limit and no more")
        func fixedWindow() throws {
            let limit = ThrottleLimit.fixedWindow(10, per: .seconds(60))
            let first = try ask(7, of: limit)
            #expect(first.granted == 7)
            let second = try ask(7, by: "b", of: limit)
            #expect(second.granted == 3)
            #expect(second.mark == first.mark)
            // 1 700 000 000 is 20 s after a full minute.
            #expect(second.wait == .seconds(40))
            #expect(try ask(7, of: limit, after: .milliseconds(39_950)).valid == .milliseconds(50))
            // Permits of an earlier window do not return in a later one.
            let later = try ask(20, of: limit, after: .seconds(40)) { ($0.returned, $0.returnedMark) = (5, first.mark) }
            #expect(later.granted == 10)
            #expect(try ask(1, of: limit, after: .seconds(41)).granted == 0)
        }

        @Test(
            "a sliding window never exceeds its limit, whenever permits are used within their lease"
        )
        func slidingWindow() throws {
            let limit = ThrottleLimit.slidingWindow(20, per: .seconds(10))
            var random = SeededGenerator(seed: 7)
            var uses: [(Duration, Int)] = []
            var (time, granted, given) = (Duration.zero, 0, (count: 0, mark: Int64(0)))
            for _ in 0..<2_000 {
                time += .milliseconds(Int.random(in: 0...200, using: &random))
                let wanted = Int.random(in: 0...6, using: &random)
                let answer = try ask(wanted, by: "m\(Int.random(in: 0...2, using: &random))", of: limit, after: time) {
                    ($0.returned, $0.returnedMark) = given
                }
                given = (0, 0)
                guard answer.granted > 0 else { continue }
                // Some permits are returned, the others used at the last moment.
                let back = Int.random(in: 0...answer.granted, using: &random)
                if back < answer.granted { uses.append((time + answer.valid, answer.granted - back)) }
                given = (back, answer.mark)
                granted += answer.granted - back
            }
            #expect(granted > 300)
            uses.sort { $0.0 < $1.0 }
            for (index, use) in uses.enumerated() {
                let window = uses[index...].prefix { $0.0 < use.0 + .seconds(10) }
                #expect(window.map(\.1).reduce(0, +) <= 20)
            }
        }

        @Test(
            "with several limits, a permit is taken from all or none, has the longest wait, and is returned to all"
        )
        func severalLimits() throws {
            let limit = ThrottleLimit.perSecond(10, burst: 10)
            let others: [ThrottleLimit] = [.fixedWindow(15, per: .seconds(60)), .slidingWindow(17, per: .seconds(10))]
            let first = try ask(12, of: limit, and: others)
            #expect((first.granted, first.wait, first.free) == (10, .milliseconds(100), 0))
            let second = try ask(12, of: limit, and: others, after: .seconds(1))
            #expect((second.granted, second.wait, second.free) == (5, .seconds(39), 0))
            #expect(try ask(3, of: limit, and: others, after: .seconds(2)).granted == 0)
            // No limit lost the 3 permits: two are left in the sliding window, and ten in the bucket.
            let third = try ask(4, of: limit, and: others, after: .seconds(2)) {
                ($0.returned, $0.returnedMark) = (4, second.mark)
            }
            #expect((third.granted, third.wait) == (4, .zero))
            // The next fixed window has begun, and the sliding window is empty.
            #expect(try ask(20, of: limit, and: others, after: .seconds(40)).granted == 10)
            #expect(try ask(20, of: limit, and: others, after: .seconds(41)).granted == 5)
            #expect(try ask(20, of: limit, and: others, after: .seconds(42)) { $0.isReset = true }.granted == 10)
            #expect(try ask(20, of: limit, and: others, after: .seconds(43)).granted == 5)
            #expect(try ask(20, of: limit, and: others, after: .seconds(44)).granted == 0)
        }

        /// What one member may take of a limit, by definition.
        struct OneLimit {
            let limit: ThrottleLimit
            let lease: Int
            /// The times, in microseconds, and counts of taken permits.
            var taken: [(time: Int, count: Int)] = []
            /// Used only for a rate.
            var level: Double
            var latest: Int

            init(_ limit: ThrottleLimit, lease: Int, at now: Int) {
                (self.limit, self.lease, latest, level) = (limit, lease, now, Double(limit.most))
            }

            /// - Parameter slice: The slice of sliding windows.
            mutating func free(at now: Int, slice: Int) -> Int {
                switch limit.kind {
                case .unlimited: return .max
                case .rate(let rate, let burst):
                    level += Double(now - latest) * Double(rate.calls) / Double(rate.period.microseconds)
                    (level, latest) = (min(level, Double(burst)), now)
                    return Int(level + 1e-6)
                case .window(let calls, let period, let kind):
                    let length = Int(period.microseconds)
                    let width = (length / 50 + slice - 1) / slice * slice
                    let counted = taken.filter {
                        kind == .sliding
                            ? ($0.time / width + 1) * width + lease + length > now : $0.time / length == now / length
                    }
                    return calls - counted.reduce(0) { $0 + $1.count }
                }
            }

            mutating func take(_ count: Int, at now: Int) {
                level -= Double(count)
                taken.append((now, count))
            }

            /// Returns this many of the permits that were taken last.
            mutating func giveBack(_ count: Int) {
                level += Double(count)
                if !taken.isEmpty { taken[taken.count - 1].count -= count }
            }
        }

        @Test(
            "after any earlier requests and returns, several limits grant as much as the tightest of them would grant",
            arguments: 0..<12 as Range<UInt64>)
        func severalLimitsByDefinition(seed: UInt64) throws {
            var random = SeededGenerator(seed: seed)
            let choice: [ThrottleLimit] = [
                .perSecond(10, burst: 20), .perMinute(200, burst: 50), .fixedWindow(30, per: .seconds(2)),
                .fixedWindow(100, per: .seconds(10)), .slidingWindow(40, per: .seconds(4)),
                .slidingWindow(120, per: .seconds(20)), .slidingWindow(500, per: .seconds(60)),
            ]
            let limits = Array(choice.shuffled(using: &random).prefix(Int.random(in: 2...4, using: &random)))
            // The shortest window counts.
            let windows = limits.compactMap { if case .window(_, let period, _) = $0.kind { period } else { nil } }
            let sliding = limits.compactMap { limit in
                if case .window(_, let period, .sliding) = limit.kind { period } else { nil }
            }
            let slice = Int((windows.min() ?? .seconds(1)).microseconds) / 50
            let lease = Int(min(.milliseconds(100), (sliding.min() ?? .seconds(60)) / 20).microseconds)
            let origin = Int(start.nanoseconds / 1_000)
            var models = limits.map { OneLimit($0, lease: lease, at: origin) }
            var (time, last, granted) = (Duration.zero, (count: 0, mark: Int64(0)), 0)
            for step in 0..<600 {
                time += .milliseconds(Int.random(in: 0...(step % 50 == 0 ? 5_000 : 150), using: &random))
                let wanted = Int.random(in: 0...12, using: &random)
                let back = Int.random(in: 0...last.count, using: &random)
                let answer = try ask(wanted, of: limits[0], and: Array(limits.dropFirst()), after: time) {
                    ($0.returned, $0.returnedMark) = (back, last.mark)
                }
                let now = origin + Int(time.microseconds)
                var least = wanted
                for index in models.indices {
                    _ = models[index].free(at: now, slice: slice)
                    models[index].giveBack(back)
                    least = min(least, models[index].free(at: now, slice: slice))
                }
                #expect(answer.granted == least, "\(limits), step \(step)")
                #expect(answer.wait > .zero || answer.granted == wanted)
                for index in models.indices { models[index].take(answer.granted, at: now) }
                last = (answer.granted, answer.mark)
                granted += answer.granted
            }
            #expect(granted > 200)
        }

        @Test("members that want more than several limits allow get equal parts of the tightest")
        func severalLimitsFairly() throws {
            let others: [ThrottleLimit] = [
                .slidingWindow(300, per: .seconds(10)), .fixedWindow(700, per: .seconds(20)),
            ]
            var got = [Int](repeating: 0, count: 3)
            for step in 0..<2_000 {
                for member in 0..<3 {
                    got[member] += try ask(
                        10, by: "m\(member)", of: .perSecond(100, burst: 20), and: others,
                        after: .milliseconds(10 + 20 * step)
                    ).granted
                }
            }
            let total = got.reduce(0, +)
            #expect((1_050...1_200).contains(total), "\(got)")
            for count in got { #expect(abs(count - total / 3) < total / 10, "\(got)") }
        }

        @Test(
            "members with different lists of limits each obey their own list; members that list the same window share it",
            arguments: [
                ([ThrottleLimit.slidingWindow(100, per: .seconds(3600))], 100),
                ([.perSecond(10, burst: 20)], 6_020),
                ([.slidingWindow(100, per: .seconds(60))], 1_000),
                ([.perSecond(50, burst: 50), .slidingWindow(100, per: .seconds(3600))], 100),
            ])
        func differentLists(older: [ThrottleLimit], most: Int) throws {
            let newer = [ThrottleLimit.perSecond(10, burst: 20), .slidingWindow(100, per: .seconds(3600))]
            var got = (older: 0, newer: 0)
            for step in 0..<6_000 {
                let time = Duration.milliseconds(100 * step)
                got.older += try ask(5, by: "old", of: older[0], and: Array(older.dropFirst()), after: time).granted
                got.newer += try ask(5, by: "new", of: newer[0], and: [newer[1]], after: time).granted
                if step < 10 { #expect(got.newer <= 30) }
            }
            // The last request may know only short limits.
            _ = try ask(1, by: "old", of: older[0], after: .seconds(600))
            guard case .integer(let ttl) = try bench.command("PTTL", "k") else {
                throw ScriptBench.Strange(reply: .null)
            }
            #expect(ttl > 7_000_000)
            let keepsTheWindow = older.contains(newer[1])
            #expect((keepsTheWindow ? got.older + got.newer : got.newer) <= 100, "\(got)")
            #expect(got.older <= most, "\(got)")
            #expect(got.older + got.newer >= 90, "\(got)")
        }

        @Test("without a limit every request is granted whole")
        func unlimited() throws { #expect(try ask(1_000, of: .unlimited).granted == 1_000) }

        @Test(
            "a hold reaches all members; then one member probes, and keeps its turn while it asks; its success ends the hold for all"
        )
        func gate() throws {
            let limit = ThrottleLimit.perSecond(100, burst: 10)
            let held = try ask(5, of: limit) { $0.hold = .until(start + .seconds(2), counts: true) }
            #expect((held.gate, held.granted, held.wait, held.holds) == (.held, 0, .seconds(2), 1))
            // A second 429 of the same burst of calls.
            #expect(
                try ask(5, by: "b", of: limit, after: .milliseconds(1)) {
                    $0.hold = .until(start + .seconds(1), counts: true)
                }.holds == 1)
            #expect(try ask(5, by: "c", of: limit, after: .seconds(1)).wait == .seconds(1))
            let late = Duration.seconds(2)
            #expect(try ask(5, by: "c", of: limit, after: late).gate == .held)
            #expect(try ask(0, by: "b", of: limit, after: late) { $0.wantsProbe = true }.gate == .probing)
            #expect(try ask(0, by: "c", of: limit, after: late) { $0.wantsProbe = true }.gate == .held)
            #expect(try ask(0, by: "b", of: limit, after: late + .seconds(1)).gate == .probing)
            #expect(try ask(0, by: "c", of: limit, after: late + .seconds(2)) { $0.wantsProbe = true }.gate == .held)
            // A member that does not probe decides nothing.
            #expect(try ask(0, by: "c", of: limit, after: late + .seconds(2)) { $0.probeEnd = .well }.gate == .held)
            let open = try ask(5, by: "b", of: limit, after: late + .seconds(2)) { $0.probeEnd = .well }
            #expect((open.gate, open.granted, open.holds) == (.open, 0, 0))
            #expect(try ask(5, by: "c", of: limit, after: late + .milliseconds(2_030)).granted == 3)
        }

        @Test("a probe whose member is gone, or whose result is unclear, is replaced by another member's probe")
        func lostProbe() throws {
            let limit = ThrottleLimit.unlimited
            _ = try ask(1, of: limit) { $0.hold = .until(start + .seconds(1), counts: true) }
            #expect(try ask(0, of: limit, after: .seconds(1)) { $0.wantsProbe = true }.gate == .probing)
            #expect(try ask(0, by: "b", of: limit, after: .milliseconds(2_999)) { $0.wantsProbe = true }.gate == .held)
            #expect(try ask(0, by: "b", of: limit, after: .seconds(3)) { $0.wantsProbe = true }.gate == .probing)
            // The first member's answer comes late.
            #expect(try ask(0, of: limit, after: .seconds(3)) { $0.probeEnd = .well }.gate == .held)
            #expect(try ask(0, by: "b", of: limit, after: .seconds(4)) { $0.probeEnd = .unclear }.gate == .held)
            #expect(try ask(0, by: "c", of: limit, after: .seconds(4)) { $0.wantsProbe = true }.gate == .probing)
        }

        @Test("a probe that receives a 429 starts a new hold, and counts")
        func heldAgain() throws {
            let limit = ThrottleLimit.unlimited
            _ = try ask(1, of: limit) { $0.hold = .until(start + .seconds(1), counts: true) }
            #expect(try ask(0, of: limit, after: .seconds(1)) { $0.wantsProbe = true }.gate == .probing)
            let again = try ask(0, of: limit, after: .seconds(1)) {
                $0.hold = .until(start + .seconds(3), counts: true)
            }
            #expect((again.gate, again.holds, again.wait) == (.held, 2, .seconds(2)))
        }

        @Test(
            "a turn to probe ends with the next hold, whoever received the 429, and then another member may probe")
        func rightEndsWithHold() throws {
            let limit = ThrottleLimit.unlimited
            _ = try ask(1, of: limit) { $0.hold = .until(start + .seconds(1), counts: true) }
            #expect(try ask(0, of: limit, after: .seconds(1)) { $0.wantsProbe = true }.gate == .probing)
            _ = try ask(0, by: "b", of: limit, after: .seconds(1)) {
                $0.hold = .until(start + .milliseconds(1_500), counts: true)
            }
            let later = Duration.milliseconds(1_500)
            #expect(try ask(0, by: "b", of: limit, after: later) { $0.wantsProbe = true }.gate == .probing)
            #expect(try ask(0, of: limit, after: later) { $0.probeEnd = .well }.gate == .held)
            #expect(try ask(0, by: "b", of: limit, after: later) { $0.probeEnd = .well }.gate == .open)
        }

        @Test("a hold that is ended by hand is over for all")
        func endedHold() throws {
            _ = try ask(1, of: .unlimited) { $0.hold = .until(start + .seconds(100), counts: false) }
            #expect(try ask(0, by: "b", of: .unlimited) { $0.hold = .ended }.wait == .zero)
            #expect(try ask(0, of: .unlimited) { $0.wantsProbe = true }.gate == .probing)
        }

        @Test("after a hold a rate grows along its ramp")
        func ramp() throws {
            let limit = ThrottleLimit.perSecond(100, burst: 10)
            let ramp = Duration.seconds(10)
            _ = try ask(0, of: limit, ramp: ramp) { $0.hold = .until(start, counts: true) }
            _ = try ask(0, of: limit, ramp: ramp) { $0.wantsProbe = true }
            _ = try ask(0, of: limit, ramp: ramp) { $0.probeEnd = .well }
            var granted = 0
            for step in 1...200 {
                granted += try ask(100, of: limit, after: .milliseconds(50 * step), ramp: ramp).granted
            }
            // s²/2R of a rate of 100 is 500 in 10 s.
            #expect((490...500).contains(granted))
            #expect(try ask(100, of: limit, after: .milliseconds(10_050), ramp: ramp).granted >= 4)
        }

        @Test("a clock that is set back prolongs no hold, and one that jumps ahead grants one burst at most")
        func clockJumps() throws {
            let limit = ThrottleLimit.perSecond(10, burst: 10)
            #expect(try ask(10, of: limit).granted == 10)
            #expect(try ask(10, of: limit, after: .seconds(-3_600)).granted == 0)
            #expect(try ask(10, of: limit, after: .seconds(-3_599)).granted == 10)
            _ = try ask(0, of: limit) { $0.hold = .until(start + .seconds(5), counts: true) }
            #expect(try ask(0, of: limit, after: .seconds(-3_600)).wait == .seconds(5))
            #expect(try ask(50, of: limit, after: .seconds(1_000_000)) { $0.wantsProbe = true }.gate == .probing)
        }

        @Test("every key expires, and members that are gone are evicted")
        func expiry() throws {
            for member in 0..<300 { _ = try ask(1, by: "m\(member)", of: .perSecond(10)) }
            guard case .integer(let ttl) = try bench.command("PTTL", "k") else {
                throw ScriptBench.Strange(reply: .null)
            }
            #expect((60_000...80_000).contains(ttl))
            for step in 1...10 { _ = try ask(0, of: .perSecond(10), after: .seconds(20 * step)) }
            guard case .integer(let fields) = try bench.command("HLEN", "k") else {
                throw ScriptBench.Strange(reply: .null)
            }
            #expect(fields < 20)
            #expect(try ask(0, of: .perSecond(10), after: .seconds(201)).members == 1)
        }

        @Test(
            "huge limits do not overflow",
            arguments: [
                ThrottleLimit.rate(.max, per: .nanoseconds(1), burst: .max), .rate(1, per: .seconds(1 << 40), burst: 1),
                .fixedWindow(.max, per: .nanoseconds(1)), .slidingWindow(1, per: .seconds(1 << 40)),
            ])
        func extremes(limit: ThrottleLimit) throws {
            #expect(try ask(1, of: limit).granted == 1)
            _ = try ask(.max, of: limit, after: .seconds(1)) { ($0.returned, $0.returnedMark) = (.max, .max) }
        }
    }
#endif
