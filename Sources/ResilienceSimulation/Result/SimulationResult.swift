public import Resilience

/// What callers and the service saw in a run of a ``Scenario``.
public struct SimulationResult: Sendable, Hashable {
    /// One interval of a run; a call counts in the interval in which it ended.
    public struct Interval: Sendable, Hashable {
        /// Its begin, from the start of the run.
        public let begins: Duration
        /// How many calls began.
        public internal(set) var offered = 0
        /// How many attempts were made of the calls that began in it.
        public internal(set) var attempts = 0
        /// How many requests reached the service.
        public internal(set) var requests = 0
        /// How many calls succeeded.
        public internal(set) var succeeded = 0
        /// How many calls failed, those that were rejected among them.
        public internal(set) var failed = 0
        /// How many calls were rejected by a policy before their first attempt.
        public internal(set) var rejected = 0
        /// The times of the calls that succeeded.
        public internal(set) var latency = LatencyHistogram()
        /// How many calls had begun and not ended at its end.
        public internal(set) var inFlight = 0
        /// How many requests waited for a worker at its end.
        public internal(set) var queued = 0
        /// The share of circuits that were open at its end; 0 without circuit breakers.
        public internal(set) var openCircuits = 0.0

        /// The share of calls that succeeded; nil if none ended.
        public var success: Double? {
            succeeded + failed == 0 ? nil : Double(succeeded) / Double(succeeded + failed)
        }
    }

    /// The intervals, in order.
    public internal(set) var intervals: [Interval]
    /// The length of an interval.
    public let interval: Duration
    /// The troubles of the run.
    public let troubles: [Trouble]
    /// How many requests a second the service can serve.
    public let capacity: Double
    /// How the calls ended.
    public internal(set) var outcomes: [CallOutcome: Int] = [:]
    /// The times of the calls that succeeded.
    public internal(set) var latency = LatencyHistogram()
    /// How many requests were served after their caller had given up.
    public internal(set) var wasted = 0

    /// How many calls had not ended when the run did.
    public internal(set) var unfinished = 0

    /// How many calls ended.
    public var calls: Int { outcomes.values.reduce(0, +) }
    /// How many calls succeeded.
    public var succeeded: Int { outcomes[.success, default: 0] }
    /// The share of all calls that succeeded, the unfinished ones among them; 1 without calls.
    public var success: Double { calls + unfinished == 0 ? 1 : Double(succeeded) / Double(calls + unfinished) }
    /// How many attempts began.
    public var attempts: Int { intervals.reduce(0) { $0 + $1.attempts } }
    /// How many requests reached the service.
    public var requests: Int { intervals.reduce(0) { $0 + $1.requests } }

    /// How many attempts were made of each call: above 1 if calls are repeated, below 1 if calls are rejected.
    public var amplification: Double { Self.ratio(attempts, intervals.reduce(0) { $0 + $1.offered }) }

    /// The most attempts for each call in any interval with calls: what a service sees in the worst second of an
    /// outage.
    public var peakAmplification: Double {
        intervals.filter { $0.offered > 0 }.map { Self.ratio($0.attempts, $0.offered) }.max() ?? 0
    }

    /// The most requests in any interval, as a multiple of the capacity; 0 if the service has no limit.
    public var peakLoad: Double {
        guard capacity.isFinite else { return 0 }
        return (intervals.map { Double($0.requests) }.max() ?? 0) / (capacity * (interval / .seconds(1)))
    }

    /// The share of calls that succeeded before the first trouble; nil without calls.
    public var successBefore: Double? { Self.success(of: before) }

    private var before: [Interval] {
        let first = troubles.map(\.begins).min() ?? .infinite
        return intervals.filter { $0.begins + interval <= first }
    }

    /// The share of calls that succeeded during the troubles; nil without calls.
    public var successDuring: Double? {
        Self.success(
            of: intervals.filter { part in
                troubles.contains { part.begins < $0.ends && part.begins + interval > $0.begins }
            })
    }

    /// The time from the end of the last trouble until calls succeed as before.
    ///
    /// Until the first interval after which no interval has less than 99 % of the success before the troubles, by more
    /// than chance: four standard deviations of as many calls, if (failed + 1) / (ended + 2) of all calls fail by
    /// chance, counted before the troubles (Laplace's rule of succession). An interval in which no call ends although
    /// calls have begun does not count as recovered.
    ///
    /// Zero without troubles; nil if the run ended before.
    public var timeToRecover: Duration? {
        guard let end = troubles.map(\.ends).max() else { return .zero }
        let (successes, ended) = Self.counts(of: before)
        let success = ended == 0 ? 1 : Double(successes) / Double(ended)
        let chance = ended == 0 ? 0 : Double(ended - successes + 1) / Double(ended + 2)
        func isBad(_ part: Interval) -> Bool {
            guard let share = part.success else { return part.inFlight > 0 }
            let deviation = (chance * (1 - chance) / Double(part.succeeded + part.failed)).squareRoot()
            return share < 0.99 * success - 4 * deviation
        }
        // The interval in which the trouble ends is left out.
        let after = intervals.filter { $0.begins >= end }
        if after.isEmpty { return nil }
        guard let last = after.lastIndex(where: isBad) else { return .zero }
        return last == after.count - 1 ? nil : after[last].begins + interval - end
    }

    private static func counts(of intervals: [Interval]) -> (succeeded: Int, ended: Int) {
        intervals.reduce((0, 0)) { ($0.0 + $1.succeeded, $0.1 + $1.succeeded + $1.failed) }
    }

    private static func success(of intervals: [Interval]) -> Double? {
        let (succeeded, ended) = counts(of: intervals)
        return ended == 0 ? nil : Double(succeeded) / Double(ended)
    }

    private static func ratio(_ part: Int, _ whole: Int) -> Double { whole == 0 ? 1 : Double(part) / Double(whole) }
}
