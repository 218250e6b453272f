import ResilienceTesting
import TestSupport
import Testing

@testable import Resilience

/// A rule on a window compared with a list of all ended calls, from which the counts are recomputed each time.
private struct ListedCalls: ExplorableMachine {
    enum Input: Hashable {
        case end(Verdict)
        case successes(Int)
        case wait(Int64)
        case reset
        /// Its memory is restored in a new rule.
        case handOver
    }

    private var rule: FailuresInWindow
    private let fresh: FailuresInWindow
    private let width: Int64
    private var calls: [(failed: Bool, time: Int64)] = []
    private var now: Int64
    private let waits: [Int64]

    init(_ rule: FailuresInWindow, start: Int64 = 0, waits: [Int64] = [1]) {
        self.rule = rule
        fresh = rule
        self.waits = waits
        now = start
        width = if case .time(let length, let buckets) = rule.window.kind { length / Int64(buckets) } else { 1 }
    }

    var inputs: [Input] {
        let ends: [Input] = [.end(.success), .end(.transient), .end(.throttled), .successes(2), .reset, .handOver]
        if case .time = rule.window.kind { return ends + waits.map { .wait($0) } }
        return ends
    }

    /// The counted calls, with their age in buckets, and the present offset in its bucket.
    var identity: [Int64]? { counted.flatMap { [$0.failed ? 1 : 0, age($0.time)] } + [now - floor(now)] }

    private func floor(_ time: Int64) -> Int64 {
        time >= 0 ? time / width * width : -((-time + width - 1) / width * width)
    }

    private func age(_ time: Int64) -> Int64 { (floor(now) - floor(time)) / width }

    private var counted: [(failed: Bool, time: Int64)] {
        switch rule.window.kind {
        case .calls(let size): calls.suffix(size).map { ($0.failed, now) }
        case .time(_, let buckets): calls.filter { age($0.time) < buckets }
        }
    }

    mutating func apply(_ input: Input) throws {
        let instant = MonotonicInstant(nanoseconds: now)
        switch input {
        case .wait(let length):
            now += length
        case .reset:
            rule.reset()
            calls = []
        case .end(let verdict):
            rule.ended(CallEnd(verdict, at: instant))
            if verdict != .throttled { calls.append((verdict == .transient, now)) }
        case .successes(let count):
            rule.succeeded(count, at: instant)
            for _ in 0..<count { calls.append((false, now)) }
        case .handOver:
            var next = fresh
            try require(next.restore(rule.memory(at: instant), at: instant), "its own memory is rejected")
            rule = next
        }
        let then = MonotonicInstant(nanoseconds: now)
        let failures = counted.count { $0.failed }
        try require(
            rule.counts(at: then), is: TripCounts(failureCount: failures, failureLimit: nil, callCount: counted.count),
            "counts"
        )
        guard case .ratio(let ratio) = rule.limit else { return }
        let isMet = counted.count >= rule.minimumCalls && Double(failures) / Double(counted.count) >= ratio
        try require(rule.isMet(at: then), is: isMet, "whether to open")
        let end = rule.tallyEnds(after: then)
        if case .time = rule.window.kind {
            try require(end.nanoseconds, is: floor(now) + width, "to when successes may be told together")
        } else {
            try require(end, is: .distantFuture)
        }
    }
}

/// A rule on slow calls compared with a list of all calls: when each call began and ended.
private struct ListedSpans: ExplorableMachine {
    enum Input: Hashable {
        case begin
        case end(Int, Verdict)
        case wait(Int64)
        case reset
    }

    private struct Span {
        let began: Int64
        var ended: (at: Int64, Verdict)?
        /// Whether the rule found the call slow while it was in flight.
        var wasFound = false
    }

    private var rule: SlowCalls
    private let slowness: Int64
    private let width: Int64
    private let size: Int
    private let maxUnderWay: Int
    private var spans: [Span] = []
    /// True for each slow call, in the order in which they were found or ended.
    private var outcomes: [Bool] = []
    private var now: Int64 = 0

    init(slowness: Int64, size: Int, underWay: Int) {
        rule = SlowCalls(.ratio(0.5), longerThan: .nanoseconds(slowness), over: .calls(size), minimumCalls: 1)
        self.slowness = slowness
        self.size = size
        width = max(1, slowness / 8)
        maxUnderWay = underWay
    }

    private var underWay: [Int] { spans.indices.filter { spans[$0].ended == nil } }

    var inputs: [Input] {
        var inputs: [Input] = [.wait(1), .wait(slowness / 2 + 1), .reset]
        if underWay.count < maxUnderWay { inputs.append(.begin) }
        for index in underWay.indices { inputs += [.end(index, .success), .end(index, .cancelled)] }
        return inputs
    }

    var identity: [Int64]? {
        let ages = underWay.map { spans[$0] }.map { $0.wasFound ? -1 : min(now - $0.began, 2 * slowness) }
        return outcomes.suffix(size).map { $0 ? 1 : 0 } + [-7] + ages + [now % width, Int64(rule.underWay.count)]
    }

    /// At its next input the rule finds the slow calls in flight, but only a whole bucket at a time.
    private mutating func find() {
        for index in underWay where !spans[index].wasFound && spans[index].began / width < (now - slowness) / width {
            guard now >= slowness else { continue }
            spans[index].wasFound = true
            outcomes.append(true)
        }
    }

    mutating func apply(_ input: Input) throws {
        let instant = MonotonicInstant(nanoseconds: now)
        switch input {
        case .wait(let length): now += length
        case .reset:
            rule.reset()
            (spans, outcomes) = ([], [])
        case .begin:
            rule.began(at: instant)
            find()
            spans.append(Span(began: now))
        case .end(let place, let verdict):
            let index = underWay[place]
            let began = spans[index].began
            rule.ended(CallEnd(verdict, at: instant, began: MonotonicInstant(nanoseconds: began)))
            find()
            spans[index].ended = (now, verdict)
            let isSlow = now - began > slowness
            if !spans[index].wasFound, isSlow || verdict != .cancelled { outcomes.append(isSlow) }
        }
        let counted = outcomes.suffix(size)
        let slow = counted.count { $0 }
        try require(rule.counts(at: instant), is: TripCounts(failureCount: slow, callCount: counted.count), "counts")
        try require(rule.isMet(at: instant), is: !counted.isEmpty && 2 * slow >= counted.count, "whether to open")
        // The rule watches exactly the calls that are in flight and were not found slow.
        try require(rule.underWay.count, is: underWay.count { !spans[$0].wasFound }, "calls watched")
    }
}

@Suite(.heavy) struct WindowExplorationTests {
    @Test("in every reachable state, a window of calls counts like a list of all calls", arguments: [1, 2, 3, 7])
    func calls(size: Int) throws {
        let rule = FailuresInWindow.failureRatio(0.5, over: .calls(size), minimumCalls: min(2, size))
        let explorer = Explorer(ListedCalls(rule), code: "ListedCalls(\(rule))")
        let exploration = try explorer.explore()
        #expect(exploration.isComplete && exploration.transitions > 10, "\(exploration)")
        try explorer.exploreRandomly(length: 1_000, seed: 1)
    }

    @Test("over thousands of inputs a window of more calls than fit into a word counts like a list of all calls")
    func manyCalls() throws {
        let rule = FailuresInWindow.failureRatio(0.4, over: .calls(130), minimumCalls: 60)
        try Explorer(ListedCalls(rule), code: "ListedCalls(\(rule))").exploreRandomly(length: 1_500, seed: 2)
    }

    @Test(
        "as far as the effort allows, a time window counts like a list of all calls, even before the clock's zero",
        arguments: [0, -7])
    func time(start: Int64) throws {
        let rule = FailuresInWindow.failureRatio(0.5, over: .time(.nanoseconds(6), buckets: 3), minimumCalls: 2)
        let explorer = Explorer(
            ListedCalls(rule, start: start, waits: [1, 5, 40]), code: "ListedCalls(\(rule), start: \(start))")
        #expect(try explorer.explore(transitionsPerEffort: 5_000).transitions >= 5_000)
        try explorer.exploreRandomly(length: 1_000, seed: 3)
    }

    @Test(
        "as far as the effort allows, slow calls count like in a list of all calls' beginnings and ends",
        arguments: [3, 16])
    func slow(slowness: Int64) throws {
        let explorer = Explorer(
            ListedSpans(slowness: slowness, size: 3, underWay: 3),
            code: "ListedSpans(slowness: \(slowness), size: 3, underWay: 3)")
        #expect(try explorer.explore(transitionsPerEffort: 5_000).transitions >= 5_000)
        try explorer.exploreRandomly(length: 1_000, seed: 4)
    }
}
