/// Opens when too many of the latest calls were slow, which means that they took longer than a limit.
///
/// A call in flight is slow as soon as the limit has passed. So the circuit opens even if no call ever returns, and
/// even if an outer timeout cancels slow calls.
public struct SlowCalls: PackagedRule, Hashable {
    /// How many slow calls are too many.
    public internal(set) var limit: FailuresInWindow.Limit
    /// How long a call may take before it is slow; above 0 s, required.
    public internal(set) var slowness: Duration
    /// The latest calls that count; the last 100 by default.
    public internal(set) var window = CallWindow.standard
    /// How many calls the window must have before the circuit can open; 1 or more, 10 by default.
    public internal(set) var minimumCalls: Int
    private(set) var outcomes = OutcomeWindow()
    private(set) var underWay = CallsUnderWay(.seconds(1))

    var bare: SlowCalls {
        SlowCalls(limit: limit, slowness: slowness, window: window, minimumCalls: minimumCalls)
    }

    /// A slow call is failing, however it ended.
    ///
    /// A call in time is healthy if it succeeded or failed permanently; any other error says nothing.
    ///
    /// - Parameter end: How the call ended, and when.
    /// - Returns: The end's evidence about the endpoint.
    public func evidence(of end: CallEnd) -> TripEvidence {
        isSlow(end)
            ? .failing : end.verdict.kind == .success || end.verdict.kind == .permanent ? .healthy : .inconclusive
    }

    private func isSlow(_ end: CallEnd) -> Bool { end.began.map { $0.duration(to: end.time) > slowness } ?? false }

    public mutating func began(at now: MonotonicInstant) {
        noteSlow(at: now)
        underWay.began(at: now)
    }

    public mutating func ended(_ end: CallEnd) {
        noteSlow(at: end.time)
        // A call that was in flight for too long has already been counted.
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

    public func tallyStretch(at now: MonotonicInstant) -> Range<MonotonicInstant>? {
        // A call that begins and ends in one stretch is not slow.
        guard !limit.couldBeReached(by: outcomes.counts(at: now), minimumCalls: minimumCalls),
            let stretch = underWay.stretch(around: now)
        else { return nil }
        return stretch.lowerBound..<min(stretch.upperBound, outcomes.stretchEnds(after: now))
    }

    public mutating func tallied(began: Int, succeeded: Int, at now: MonotonicInstant) {
        underWay.tallied(began: began, ended: succeeded, at: now)
        outcomes.add(succeeded, failing: false, at: now)
    }

    public mutating func forgetCalls() { underWay = CallsUnderWay(slowness) }

    /// Calls in flight are tracked in eighths of the limit, so only a rule with the same limit can take them over.
    ///
    /// - Parameter other: The rule that is replaced.
    /// - Returns: Whether the other rule is of this type and has the same limit.
    public mutating func takeCalls(from other: any TripRule) -> Bool {
        guard let other = other as? SlowCalls, other.slowness == slowness else { return false }
        underWay = other.underWay
        return true
    }

    public mutating func reset() {
        outcomes = OutcomeWindow(window)
        forgetCalls()
    }

    public func counts(at now: MonotonicInstant) -> TripCounts { limit.shown(outcomes.counts(at: now)) }
    public var needs: TripRuleNeeds { [.calls, .successes] }
    public func memory(at now: MonotonicInstant) -> [Int] { MemoryKind.slow.memory(outcomes.memory(at: now)) }

    public mutating func restore(_ memory: [Int], at now: MonotonicInstant) -> Bool {
        MemoryKind.slow.content(of: memory).map { outcomes.restore($0, of: window, takenAt: now) } ?? false
    }

    public var description: String {
        "opens on \(limit) of \(window) taking longer than \(slowness.text), of at least \(minimumCalls)"
    }
}

extension SlowCalls {
    /// Creates a rule.
    ///
    /// - Parameters:
    ///   - limit: How many slow calls are too many.
    ///   - slowness: How long a call may take; above 0. A slow call in flight is noticed up to 1/8 of this time late,
    ///     when another call begins or ends.
    ///   - window: The calls that count.
    ///   - minimumCalls: How many calls the window must have before the circuit can open; 1 or more, and no more than
    ///     the window holds.
    public init(
        _ limit: FailuresInWindow.Limit, longerThan slowness: Duration, over window: CallWindow, minimumCalls: Int
    ) {
        self = SlowCalls(limit: limit, slowness: slowness, window: window, minimumCalls: minimumCalls).checked()
    }
}

/// The calls in flight, counted by when they began, in memory that does not grow: a bucket for each eighth of the
/// allowed time.
struct CallsUnderWay: Sendable, Hashable {
    private let slowness: Int64
    private let width: Int64
    private var buckets: [Int]
    /// Calls that began before this stretch of time have been counted as slow. nil before the first call.
    private var oldest: Int64?

    init(_ slowness: Duration) {
        self.slowness = slowness.saturatedNanoseconds
        width = max(1, self.slowness / 8)
        // One bucket for each eighth, one for the current stretch, and one for the stretch that the limit cuts.
        buckets = Array(repeating: 0, count: Int(self.slowness / width) + 2)
    }

    var count: Int { buckets.reduce(0, +) }

    mutating func began(at now: MonotonicInstant) {
        let stretch = stretch(of: now.nanoseconds)
        if oldest == nil { oldest = stretch }
        buckets[place(of: stretch)] += 1
    }

    /// - Returns: Whether the call was still in a bucket: false if it was counted as slow, or began before calls were
    ///   watched.
    mutating func ended(began: MonotonicInstant) -> Bool {
        let stretch = stretch(of: began.nanoseconds)
        guard let oldest, stretch >= oldest, buckets[place(of: stretch)] > 0 else { return false }
        buckets[place(of: stretch)] -= 1
        return true
    }

    /// Removes all calls that have been in flight for too long.
    /// - Returns: Their number.
    mutating func takeSlow(at now: MonotonicInstant) -> Int {
        guard let oldest else { return 0 }
        // All calls of a stretch are slow once a call at its end would be slow.
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

    /// The time around `now` in which calls count in the same bucket and none becomes slow; nil if some calls are
    /// already slow.
    func stretch(around now: MonotonicInstant) -> Range<MonotonicInstant>? {
        let now = now.nanoseconds
        let limit = stretch(of: now.saturatingSubtracting(slowness))
        if let oldest, limit > oldest { return nil }
        let begins = max(begin(of: stretch(of: now)), begin(of: limit).saturatingAdding(slowness))
        let ends = min(
            begin(of: stretch(of: now).saturatingAdding(1)),
            begin(of: limit.saturatingAdding(1)).saturatingAdding(slowness))
        guard begins <= now, now < ends else { return nil }
        return MonotonicInstant(nanoseconds: begins)..<MonotonicInstant(nanoseconds: ends)
    }

    /// Takes calls that began, and calls that ended, in the stretch around `now`.
    mutating func tallied(began: Int, ended: Int, at now: MonotonicInstant) {
        let stretch = stretch(of: now.nanoseconds)
        if oldest == nil { oldest = stretch }
        buckets[place(of: stretch)] += began - ended
    }

    private func begin(of stretch: Int64) -> Int64 { stretch.saturatingMultiplied(by: width) }

    private func stretch(of nanoseconds: Int64) -> Int64 { nanoseconds.flooredDivision(by: width).quotient }

    private func place(of stretch: Int64) -> Int { Int(stretch.flooredDivision(by: Int64(buckets.count)).remainder) }
}

extension TripRule where Self == SlowCalls {
    /// Opens when this share of the latest calls was slow, calls in flight included.
    ///
    /// - Parameters:
    ///   - ratio: The share; above 0, at most 1.
    ///   - slowness: How long a call may take; above 0.
    ///   - window: The calls that count.
    ///   - minimumCalls: How many calls the window must have before the circuit can open; 1 or more, and no more than
    ///     the window holds.
    public static func slowCalls(
        _ ratio: Double, longerThan slowness: Duration, over window: CallWindow = .calls(100), minimumCalls: Int = 10
    ) -> Self {
        SlowCalls(.ratio(ratio), longerThan: slowness, over: window, minimumCalls: minimumCalls)
    }
}
