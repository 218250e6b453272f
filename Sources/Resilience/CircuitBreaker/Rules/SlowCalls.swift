/// Opens when too many of the latest calls were slow: took longer than a limit. A call in flight is slow as soon as that has
/// passed.
///
/// So it opens though nothing ever comes back, and though a timeout further out cancels what is slow.
public struct SlowCalls: TripRule, Hashable {
    public let limit: FailuresInWindow.Limit
    /// How long a call may take; one that takes longer is slow.
    public let slowness: Duration
    public let window: CallWindow
    public let minimumCalls: Int
    private var outcomes: OutcomeWindow
    private(set) var underWay: CallsUnderWay

    /// - Parameters:
    ///   - limit: how many slow calls are too many.
    ///   - slowness: how long a call may take; above zero. A call in flight is found slow up to an eighth of it later.
    ///   - window: which calls are looked back on.
    ///   - minimumCalls: calls in the window below which it never opens; 1 or more, and no more than the window holds.
    public init(
        _ limit: FailuresInWindow.Limit, longerThan slowness: Duration, over window: CallWindow, minimumCalls: Int
    ) {
        let slowness = SettingChecks("SlowCalls").aboveZero(slowness, "slowness")
        // Its checks are this rule's.
        let checked = FailuresInWindow(limit, over: window, minimumCalls: minimumCalls, failing: [], healthy: [])
        self.limit = checked.limit
        self.slowness = slowness
        self.window = window
        self.minimumCalls = minimumCalls
        outcomes = OutcomeWindow(window)
        underWay = CallsUnderWay(slowness)
    }

    /// What answers too late is failing. An error that comes in time says nothing.
    public func evidence(of end: CallEnd) -> TripEvidence {
        isSlow(end) ? .failing : end.verdict == .success || end.verdict == .permanent ? .healthy : .none
    }

    private func isSlow(_ end: CallEnd) -> Bool { end.began.map { $0.duration(to: end.time) > slowness } ?? false }

    public mutating func began(at now: MonotonicInstant) {
        noteSlow(at: now)
        underWay.began(at: now)
    }

    public mutating func ended(_ end: CallEnd) {
        noteSlow(at: end.time)
        // What was under way too long has been counted.
        guard let began = end.began, underWay.ended(began: began) else { return }
        let slow = isSlow(end)
        if slow || !end.verdict.saysNothing { outcomes.add(1, failing: slow, at: end.time) }
    }

    private mutating func noteSlow(at now: MonotonicInstant) {
        outcomes.add(underWay.takeSlow(at: now), failing: true, at: now)
    }

    public func isMet(at now: MonotonicInstant) -> Bool {
        limit.isReached(by: outcomes.counts(at: now), minimumCalls: minimumCalls)
    }

    public mutating func forgetCalls() { underWay = CallsUnderWay(slowness) }

    /// They are known by eighths of their limit, so only a rule with the same limit can take them.
    public mutating func takeCalls(from other: any TripRule) -> Bool {
        guard let other = other as? SlowCalls, other.slowness == slowness else { return false }
        underWay = other.underWay
        return true
    }

    public mutating func reset() {
        outcomes.reset()
        forgetCalls()
    }

    public func counts(at now: MonotonicInstant) -> TripCounts { limit.shown(outcomes.counts(at: now)) }
    public var needs: TripRuleNeeds { [.calls, .successes] }
    public func memory(at now: MonotonicInstant) -> [Int] { MemoryKind.slow.memory(outcomes.memory(at: now)) }

    public mutating func restore(_ memory: [Int], at now: MonotonicInstant) -> Bool {
        MemoryKind.slow.content(of: memory).map { outcomes.restore($0, takenAt: now) } ?? false
    }

    public var description: String {
        "opens on \(limit) of \(window) taking longer than \(slowness.text), of at least \(minimumCalls)"
    }
}

/// How many calls are under way, by when they began, in memory that does not grow: a bucket for each eighth of the time
/// that they may take.
struct CallsUnderWay: Sendable, Hashable {
    private let slowness: Int64
    private let width: Int64
    private var buckets: [Int]
    /// Calls that began before this stretch of time are no longer here: they were slow. nil before the first call.
    private var oldest: Int64?

    init(_ slowness: Duration) {
        self.slowness = slowness.saturatedNanoseconds
        width = max(1, self.slowness / 8)
        // Those that may be young enough, the one under way, and one that the limit cuts.
        buckets = Array(repeating: 0, count: Int(self.slowness / width) + 2)
    }

    var count: Int { buckets.reduce(0, +) }

    mutating func began(at now: MonotonicInstant) {
        let stretch = stretch(of: now.nanoseconds)
        if oldest == nil { oldest = stretch }
        buckets[place(of: stretch)] += 1
    }

    /// - Returns: whether it was still here; not if it was taken for slow, or began before anything was watched.
    mutating func ended(began: MonotonicInstant) -> Bool {
        let stretch = stretch(of: began.nanoseconds)
        guard let oldest, stretch >= oldest, buckets[place(of: stretch)] > 0 else { return false }
        buckets[place(of: stretch)] -= 1
        return true
    }

    /// Lets go of all that have been under way too long.
    /// - Returns: how many they were.
    mutating func takeSlow(at now: MonotonicInstant) -> Int {
        guard let oldest else { return 0 }
        // Of a stretch all are slow when the last that can have begun in it is.
        let limit = stretch(of: now.nanoseconds.saturatingSubtracting(slowness))
        guard limit > oldest else { return 0 }
        var slow = 0
        for stretch in oldest..<min(limit, oldest.saturatingAdding(Int64(buckets.count))) {
            slow += buckets[place(of: stretch)]
            buckets[place(of: stretch)] = 0
        }
        self.oldest = limit
        return slow
    }

    private func stretch(of nanoseconds: Int64) -> Int64 { nanoseconds.flooredDivision(by: width).quotient }

    private func place(of stretch: Int64) -> Int { Int(stretch.flooredDivision(by: Int64(buckets.count)).remainder) }
}

extension TripRule where Self == SlowCalls {
    /// Opens when this share of the latest calls took too long, those still under way included.
    /// - Parameters:
    ///   - ratio: above 0, at most 1.
    ///   - slowness: how long a call may take; above zero.
    ///   - window: which calls are looked back on.
    ///   - minimumCalls: calls in the window below which it never opens; 1 or more.
    public static func slowCalls(
        _ ratio: Double, longerThan slowness: Duration, over window: CallWindow = .calls(100), minimumCalls: Int = 10
    ) -> Self {
        SlowCalls(.ratio(ratio), longerThan: slowness, over: window, minimumCalls: minimumCalls)
    }
}
