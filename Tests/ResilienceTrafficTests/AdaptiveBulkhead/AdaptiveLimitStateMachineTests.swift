import Testing

@testable import Resilience
@testable import ResilienceTraffic

/// A machine with calls that come one window at a time, all alike.
private struct Windows {
    var machine: AdaptiveLimitStateMachine
    var now: Int64 = 0

    init(_ settings: AdaptiveLimit) { machine = AdaptiveLimitStateMachine(settings) }

    /// This many calls of one latency end, after the calls of the old limit are over.
    mutating func calls(
        _ milliseconds: Int64, _ count: Int? = nil, inUse: Int? = nil, _ end: AdaptiveLimitStateMachine.End = .success
    ) {
        now += 1_000_000_000
        for _ in 0..<(count ?? max(16, machine.permits)) {
            now += 10_000_000
            _ = machine.ended(
                end, began: now - milliseconds * 1_000_000, at: now, inUse: inUse ?? machine.permits)
        }
    }

    var baseline: Double? { machine.baseline.map { $0 / 1e6 } }
}

@Suite struct AdaptiveLimitStateMachineTests {
    private static let aimd = AdaptiveLimit.aimd(initial: 20, in: 2...100)
    private static let gradient = AdaptiveLimit.gradient(initial: 16, in: 2...100)

    /// With a baseline of 100 ms, found at half of the limit.
    private func measured(_ settings: AdaptiveLimit = gradient) -> Windows {
        var windows = Windows(settings)
        windows.calls(100)
        windows.calls(100)
        return windows
    }

    @Test("a busy bulkhead's first window starts a search, which halves the limit until calls get no faster")
    func search() {
        var windows = Windows(Self.gradient)
        #expect(windows.machine.permits == 16 && windows.baseline == nil)
        windows.calls(400)
        #expect(windows.machine.permits == 8 && windows.machine.isSearching)
        windows.calls(200)
        #expect(windows.machine.permits == 4 && windows.machine.isSearching)
        windows.calls(100)
        #expect(windows.machine.permits == 2 && windows.machine.isSearching)
        windows.calls(100)
        #expect(windows.machine.permits == 4 && !windows.machine.isSearching && windows.baseline == 100)
    }

    @Test("a search ends at the lowest limit, and keeps it if calls were faster there")
    func lowest() {
        var windows = Windows(.gradient(initial: 4, in: 2...100))
        windows.calls(400)
        windows.calls(200)
        #expect(windows.machine.permits == 2 && !windows.machine.isSearching && windows.baseline == 200)
    }

    @Test("an idle bulkhead learns its baseline from its calls, and keeps its limit")
    func idle() {
        var windows = Windows(Self.gradient)
        windows.calls(100, inUse: 7)
        #expect(windows.machine.permits == 16 && windows.baseline == 100 && !windows.machine.isSearching)
        windows.calls(120, inUse: 7)
        #expect(windows.machine.permits == 16 && windows.baseline == 110)
        windows.calls(110, inUse: 7)
        #expect(windows.machine.permits == 16 && windows.baseline == 110)
    }

    @Test("while no call ends, nothing changes, however long that is")
    func noDecay() {
        var windows = measured()
        let limit = windows.machine.limit
        windows.now += 86_400_000_000_000
        #expect(windows.machine.limit == limit && windows.baseline == 100)
        windows.calls(100, inUse: 1)
        #expect(windows.machine.limit == limit && windows.baseline == 100)
    }

    @Test("a window needs 16 calls, its shortest time, and a mean known to 5 %, or 400 calls")
    func windows() {
        var machine = AdaptiveLimitStateMachine(.aimd(initial: 4, in: 1...100, window: .seconds(1)))
        for count in 1...16 {
            let isChanged = machine.ended(.success, began: 0, at: 10, inUse: 4)
            #expect(!isChanged, "\(count)")
        }
        // The window began at 10.
        var isChanged = machine.ended(.success, began: 999_999_999, at: 1_000_000_009, inUse: 4)
        #expect(!isChanged)
        isChanged = machine.ended(.success, began: 1_000_000_000, at: 1_000_000_010, inUse: 4)
        // The first window sets the baseline.
        #expect(!isChanged && machine.latency == 10)
        var uneven = AdaptiveLimitStateMachine(.aimd(initial: 4, in: 1...100, window: .nanoseconds(1)))
        for count in 1...400 {
            #expect(uneven.latency == nil, "\(count)")
            _ = uneven.ended(.success, began: count.isMultiple(of: 2) ? Int64(count) : 0, at: 1000, inUse: 4)
        }
        _ = uneven.ended(.success, began: 0, at: 1001, inUse: 4)
        #expect(uneven.latency != nil)
    }

    @Test("after a change, calls of the old limit are ignored for the length of a mean latency")
    func settling() {
        var machine = AdaptiveLimitStateMachine(.aimd(initial: 4, in: 1...100, window: .nanoseconds(1)))
        for time in Int64(1)...34 { _ = machine.ended(.success, began: time, at: time + 100, inUse: 4) }
        // The first window, which sets the baseline, and the second are over: at 116, and 132.
        #expect(machine.permits == 8)
        for _ in 0..<400 {
            let isChanged = machine.ended(.success, began: 131, at: 231, inUse: 8)
            #expect(!isChanged)
        }
        for time in Int64(132)...146 {
            let isChanged = machine.ended(.success, began: time, at: time + 100, inUse: 8)
            #expect(!isChanged)
        }
        let isChanged = machine.ended(.success, began: 147, at: 247, inUse: 8)
        #expect(isChanged && machine.permits == 16)
    }

    @Test("a limit is not raised while fewer than half of its permits are in use", arguments: [9, 10])
    func busy(inUse: Int) {
        var windows = Windows(Self.aimd)
        windows.calls(100, inUse: 1)
        windows.calls(100, inUse: inUse)
        #expect(windows.machine.permits == (inUse == 10 ? 40 : 20))
    }

    @Test("an overload lowers the limit at once; calls that began before this do not lower it again")
    func overload() {
        var machine = AdaptiveLimitStateMachine(Self.aimd)
        var isChanged = machine.ended(.overload, began: 0, at: 100, inUse: 20)
        #expect(isChanged && machine.permits == 18)
        for _ in 0..<19 {
            isChanged = machine.ended(.overload, began: 99, at: 101, inUse: 20)
            #expect(!isChanged)
        }
        isChanged = machine.ended(.overload, began: 100, at: 102, inUse: 18)
        #expect(isChanged && machine.permits == 16)
    }

    @Test("an overload during a search lowers the limit that was valid before the search")
    func overloadInSearch() {
        var windows = Windows(Self.gradient)
        windows.calls(100)
        #expect(windows.machine.permits == 8 && windows.machine.isSearching)
        windows.calls(100, 1, .overload)
        #expect(windows.machine.permits == 14 && !windows.machine.isSearching)
    }

    @Test("a window whose mean is too slow is an overload")
    func slow() {
        var windows = Windows(.aimd(initial: 20, in: 2...100, slowAfter: .milliseconds(200)))
        windows.calls(200, inUse: 1)
        #expect(windows.machine.permits == 20)
        windows.calls(201, inUse: 1)
        #expect(windows.machine.permits == 18)
    }

    @Test("cut-off calls halve the limit, and do not set a baseline")
    func cut() {
        var windows = measured()
        let before = windows.machine
        for limit in [8, 4, 2, 2, 2] {
            windows.calls(1000, 30, .cut)
            #expect(windows.machine.permits == limit && windows.machine.latency == before.latency)
        }
        #expect(windows.baseline == 100 && !windows.machine.isSearching)
        windows.calls(100, 40)
        #expect(windows.machine.permits == 3)
    }

    @Test("cut-off calls do not lower the limit if they are at most one in ten, or if a larger share may be chance")
    func fewCuts() {
        for (cuts, permits) in [(1, 32), (7, 32), (8, 8)] {
            var windows = Windows(Self.gradient)
            windows.calls(100)
            windows.calls(100)
            windows.machine.set(to: 16, at: windows.now)
            windows.now += 1_000_000_000
            // In sequence, so that they share one window.
            for call in 0..<30 {
                windows.now += 1_000_000
                let isCut = call < cuts
                _ = windows.machine.ended(
                    isCut ? .cut : .success, began: windows.now - 100_000_000, at: windows.now, inUse: 16)
            }
            windows.now += 100_000_000
            _ = windows.machine.ended(.success, began: windows.now - 100_000_000, at: windows.now, inUse: 16)
            #expect(windows.machine.permits == permits, "\(cuts)")
        }
    }

    @Test("one hang of the service halves the limit once: earlier calls show nothing about the new limit (P73)")
    func oneHang() {
        var windows = measured()
        let began = windows.now
        windows.now += 2_000_000_000
        for _ in 0..<100 { _ = windows.machine.ended(.cut, began: began, at: windows.now, inUse: 16) }
        #expect(windows.machine.permits == 8)
        for _ in 0..<100 {
            windows.now += 10_000_000
            _ = windows.machine.ended(.cut, began: began, at: windows.now, inUse: 8)
        }
        #expect(windows.machine.permits == 8)
    }

    @Test("if half the limit brings as many hangs and half the successes, the limit was not the cause (P73)")
    func hanging() {
        var windows = measured(.gradient(initial: 16, in: 2...16))
        /// Ten rounds per second of as many calls as permits; 40 % hang.
        func second() {
            let calls = windows.machine.permits * 10
            for call in 0..<calls {
                windows.now += 1_000_000_000 / Int64(calls)
                let hangs = call % 5 < 2
                _ = windows.machine.ended(
                    hangs ? .cut : .success, began: windows.now - (hangs ? 1_000_000_000 : 100_000_000),
                    at: windows.now,
                    inUse: windows.machine.permits)
            }
        }
        var limits: Set<Int> = []
        for _ in 0..<20 {
            second()
            limits.insert(windows.machine.permits)
        }
        #expect(limits == [8, 16] && windows.machine.permits == 16, "\(limits)")
    }

    @Test("before any success, cut-off calls also halve the limit")
    func cutAtFirst() {
        var windows = Windows(Self.gradient)
        windows.calls(100, 30, .cut)
        #expect(windows.machine.permits == 8 && windows.baseline == nil && !windows.machine.isSearching)
    }

    @Test("a search without successful calls is given up, however late the next call ends (P73)")
    func searchWithoutEnd() {
        var windows = Windows(Self.gradient)
        windows.calls(100)
        #expect(windows.machine.permits == 8 && windows.machine.isSearching)
        for _ in 0..<100 { windows.calls(100, 1, .other) }
        #expect(windows.machine.permits == 16 && !windows.machine.isSearching)
        var idle = Windows(Self.gradient)
        idle.calls(100)
        idle.now += 8 * 3_600_000_000_000
        idle.calls(100)
        #expect(!idle.machine.isSearching && idle.machine.permits == 16)
        idle.calls(100)
        #expect(idle.machine.isSearching)
    }

    @Test("after a window with a clock jump, new calls count at once")
    func jump() {
        var machine = AdaptiveLimitStateMachine(Self.gradient)
        let hour: Int64 = 3_600_000_000_000
        for _ in 0..<17 { _ = machine.ended(.success, began: 0, at: hour, inUse: 16) }
        _ = machine.ended(.success, began: 0, at: hour + 200_000_000, inUse: 16)
        #expect(machine.permits == 8 && machine.isSearching)
        var now = hour + 200_000_000
        for _ in 0..<60 {
            now += 10_000_000
            _ = machine.ended(.success, began: now - 10_000_000, at: now, inUse: machine.permits)
        }
        #expect(!machine.isSearching && machine.baseline == 10_000_000)
    }

    @Test("for a limit without latencies, a cut-off call is an overload")
    func cutWithoutBaseline() {
        var windows = Windows(Self.aimd)
        windows.calls(100, 1, .cut)
        #expect(windows.machine.permits == 18)
        windows.calls(100, inUse: 1)
        // Their callers had too little time.
        windows.calls(49, 50, .cut)
        #expect(windows.machine.permits == 18)
        windows.calls(50, 1, .cut)
        #expect(windows.machine.permits == 16)
    }

    @Test("calls that end without information change nothing")
    func other() {
        var windows = measured()
        let before = windows.machine.limit
        windows.calls(10_000, 1000, .other)
        #expect(windows.machine.limit == before && windows.machine.latency == 100e6)
    }

    @Test("one endless call counts as a call of four times the mean")
    func clipped() {
        var windows = measured()
        windows.now += 1_000_000_000
        _ = windows.machine.ended(.success, began: -1_000_000_000_000, at: windows.now, inUse: 1)
        windows.calls(100, 399, inUse: 1)
        // (400 + 399 × 100) ÷ 400 = 100.75, which is within the standard error from 16 calls on.
        #expect(windows.machine.latency.map { $0 < 119e6 } == true)
    }

    @Test("when the service itself slows down, the limit falls at first, and recovers with a new baseline")
    func slower() {
        var windows = measured()
        #expect(windows.machine.permits == 16)
        windows.calls(300)
        #expect(windows.machine.permits == 8)
        windows.calls(300)
        #expect(windows.machine.permits == 16 && windows.baseline == 300)
        windows.calls(300)
        #expect(windows.machine.permits == 17)
    }

    @Test("when the capacity halves, the limit falls to it, and the baseline stays")
    func halved() {
        var windows = measured()
        windows.calls(200)
        #expect(windows.machine.permits == 8)
        windows.calls(100)
        #expect((8...9).contains(windows.machine.permits) && windows.baseline == 100)
    }

    @Test("a faster window corrects a baseline that was too long (P57)")
    func faster() {
        var windows = measured()
        windows.calls(50)
        #expect(windows.baseline == 50)
    }

    @Test("the baseline is measured again after 20 times its measuring time, then 40 times, up to a minute")
    func age() {
        var windows = measured(.gradient(initial: 16, in: 2...16))
        var searches: [Int64] = []
        for _ in 0..<300 {
            let before = windows.machine.isSearching
            windows.calls(100)
            if windows.machine.isSearching, !before { searches.append(windows.now / 1_000_000_000) }
        }
        let ages = zip(searches, searches.dropFirst()).map { $1 - $0 }
        #expect(ages.first.map { (23...50).contains($0) } == true)
        #expect(ages.dropFirst().allSatisfy { (60...64).contains($0) }, "\(ages)")
    }

    @Test("the limit stays within its bounds, whatever an algorithm returns")
    func bounds() {
        struct Wild: LimitAlgorithm {
            let answer: Double
            var usesBaseline: Bool { false }
            func limit(after window: LimitWindow) -> Double { answer }
            func limitAfterOverload(_ limit: Double) -> Double { -answer }
        }
        for (answer, high, low) in [
            (1e300, 30, 3), (.infinity, 10, 10), (.nan, 10, 10), (-5, 3, 5), (0, 3, 3), (12.9, 12, 3),
        ] as [(Double, Int, Int)] {
            var windows = Windows(.custom(Wild(answer: answer), initial: 10, in: 3...30))
            var other = windows
            windows.calls(1, inUse: 1)
            windows.calls(1, inUse: 1)
            #expect(windows.machine.permits == high, "\(answer)")
            other.calls(1, 1, .overload)
            #expect(other.machine.permits == low, "\(answer)")
        }
    }

    @Test("a limit set by hand is the new starting point")
    func set() {
        var windows = Windows(Self.gradient)
        windows.calls(100)
        #expect(windows.machine.isSearching)
        windows.machine.set(to: 50, at: windows.now)
        #expect(windows.machine.permits == 50 && !windows.machine.isSearching && windows.baseline == 100)
        windows.machine.set(to: 1, at: windows.now)
        #expect(windows.machine.permits == 2)
        windows.machine.set(to: .max, at: windows.now)
        #expect(windows.machine.permits == 100)
    }

    @Test("calls of zero, negative or endless length do no harm")
    func extremes() {
        for (began, now) in [(0, 0), (5, 0), (.min, .max), (.max, .min), (0, .max)] as [(Int64, Int64)] {
            var machine = AdaptiveLimitStateMachine(.gradient(initial: 10, in: 1...30, window: .nanoseconds(1)))
            for _ in 0..<2000 { _ = machine.ended(.success, began: began, at: now, inUse: 10) }
            #expect((1...30).contains(machine.permits))
            for round in 0..<10_000 {
                _ = machine.ended(.success, began: Int64(round), at: Int64(round) + 1, inUse: 10)
                #expect((1...30).contains(machine.permits))
            }
        }
    }

    @Test("a default limit begins within its bounds")
    func initial() {
        #expect(AdaptiveLimit.gradient(in: 1...10).initial == 10 && AdaptiveLimit.vegas(in: 50...100).initial == 50)
        #expect(AdaptiveLimit.aimd().initial == 20)
    }

    // MARK: Timing

    /// A call of this many milliseconds ends at this time.
    private func end(
        _ machine: inout AdaptiveLimitStateMachine, _ milliseconds: Int64, at now: Int64,
        _ end: AdaptiveLimitStateMachine.End = .success, inUse: Int = 16
    ) {
        _ = machine.ended(end, began: now - milliseconds * 1_000_000, at: now, inUse: inUse)
    }

    @Test(
        "a search is given up after ten times the expected time of its calls; the next search does not begin at once")
    func patience() {
        var windows = Windows(Self.gradient)
        windows.calls(100)
        let began = windows.now
        // Ten times the window, and 1 + 100 ÷ 8 bursts of 100 ms.
        let last = began + 14_500_000_000
        end(&windows.machine, 100, at: last, .other)
        #expect(windows.machine.isSearching)
        end(&windows.machine, 100, at: last + 1, .other)
        #expect(!windows.machine.isSearching && windows.machine.permits == 16)
        // For the baseline's age, 20 times the search's time, an abandoned search counts like a finished one.
        windows = measured()
        while !windows.machine.isSearching { windows.calls(100) }
        let permits = windows.machine.permits
        end(&windows.machine, 100, at: windows.now + 20_000_000_000, .other)
        #expect(!windows.machine.isSearching)
        windows.now += 20_000_000_000
        windows.calls(100)
        #expect(!windows.machine.isSearching && windows.machine.permits >= 2 * permits)
    }

    @Test("the experiment after a fall is not a search: it waits for its calls, however late they come")
    func patienceOfAFall() {
        var windows = measured()
        windows.calls(300)
        #expect(windows.machine.permits == 8 && !windows.machine.isSearching)
        windows.now += 3_600_000_000_000
        windows.calls(300)
        #expect(windows.machine.permits == 16 && windows.baseline == 300)
    }

    @Test(
        "only a call of the new limit shortens the wait for the old limit's calls, to four times the latency of this call"
    )
    func cutShort() {
        for (milliseconds, beganBefore, counted) in [(10, true, false), (10, false, true), (200, false, false)] {
            var machine = AdaptiveLimitStateMachine(Self.gradient)
            // A mean of 500 ms.
            for call in 0..<17 { end(&machine, 500, at: 1_000_000_000 + Int64(call) * 10_000_000) }
            #expect(machine.permits == 8)
            let changed = Int64(1_150_000_000)
            // The window begins at 500 ms after the change, or at 40 ms.
            let first = changed + (beganBefore ? Int64(milliseconds) * 1_000_000 - 1 : Int64(milliseconds) * 1_000_000)
            _ = machine.ended(.success, began: first - Int64(milliseconds) * 1_000_000, at: first, inUse: 8)
            for call in 0..<16 {
                end(&machine, 460, at: changed + 300_000_000 + Int64(call) * 10_000_000, inUse: 8)
            }
            #expect((machine.latency != 500e6) == counted, "\(milliseconds) \(beganBefore)")
        }
    }

    @Test("a window uses its highest concurrency, not its last")
    func mostInUse() {
        var windows = Windows(Self.aimd)
        windows.calls(100, inUse: 1)
        windows.now += 1_000_000_000
        for call in 0..<20 {
            windows.now += 10_000_000
            end(&windows.machine, 100, at: windows.now, inUse: call == 0 ? 20 : 1)
        }
        #expect(windows.machine.permits == 40)
    }

    @Test("400 calls make a window, with any number of permits and any variation")
    func fullWindow() {
        var windows = Windows(.aimd(initial: 1_000, in: 2...10_000))
        windows.calls(100, 400, inUse: 1)
        windows.calls(100, 399)
        #expect(windows.machine.permits == 1_000)
        windows.calls(100, 1)
        #expect(windows.machine.permits == 2_000)
        var uneven = Windows(.aimd(initial: 20, in: 2...10_000))
        uneven.calls(100, inUse: 1)
        for call in 0..<399 { uneven.calls(call % 100 == 0 ? 100_000 : 1, 1, inUse: 20) }
        #expect(uneven.machine.permits == 20)
        uneven.calls(1, 1, inUse: 20)
        #expect(uneven.machine.permits == 40)
    }

    @Test("a call whose beginning, by another thread's clock, is later than its end has a latency of zero")
    func backwards() {
        var windows = Windows(Self.aimd)
        for call in 0..<400 { windows.calls(call % 2 == 0 ? 100 : -100, 1, inUse: 1) }
        #expect(windows.machine.latency.map { (50e6...51e6).contains($0) } == true)
    }

    @Test("after a clock jump in the first window, cut-off calls count as usual")
    func jumpAndCuts() {
        var windows = Windows(Self.gradient)
        windows.calls(3_600_000, 1)
        windows.calls(1_000, 30, .cut)
        #expect(windows.machine.permits == 8)
    }
}
