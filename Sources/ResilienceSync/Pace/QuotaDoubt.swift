import Resilience

/// Tests whether a server's quotas are wrong.
///
/// If, repeatedly, only the probe gets through before the quota is exhausted again, the quota may be right, or it may
/// be wrong, for example because a proxy cached the answer. Only a test decides: a request despite the exhausted quota.
/// If it is acknowledged, quotas are ignored for a while. If it gets a 429, the next test comes after twice as many
/// silences.
struct QuotaDoubt: Sendable, Hashable {
    private enum Test: Sendable, Hashable {
        /// → due
        case none
        /// → sent
        case due
        /// The one request in flight is the test. → none
        case sent
    }

    private static let leastPatience = 8
    private static let mostPatience = 128
    /// The number of acknowledgements after which quotas count again.
    private static let longestDisbelief = 1_000

    private var test = Test.none
    /// The number of silences in a row after which only a probe got through.
    private var fruitless = 0
    /// How many such silences lead to a test.
    private var patience = Self.leastPatience
    /// The number of requests acknowledged since the last probe was sent.
    private var acknowledgements = 0
    private var disbelief = 0

    var believes: Bool { disbelief == 0 }
    var isTesting: Bool { test != .none }

    mutating func silenceBegins() {
        if test == .none, fruitless >= patience { test = .due }
    }

    /// Called when the first request after a silence goes out.
    mutating func probeSent() {
        fruitless = acknowledgements <= 1 ? fruitless + 1 : 0
        acknowledgements = 0
    }

    /// Called when the test request goes out, alone.
    /// - Parameter inSilence: Whether nothing is left, by the server's quota. After the reset a test would prove
    ///   nothing, so the next silence is tested instead.
    mutating func sent(inSilence: Bool) { test = inSilence ? .sent : .none }

    /// - Returns: Whether this proves the quotas wrong.
    mutating func acknowledged() -> Bool {
        acknowledgements += 1
        disbelief = max(0, disbelief - 1)
        guard test == .sent else { return false }
        self = QuotaDoubt()
        disbelief = Self.longestDisbelief
        return true
    }

    /// Called when a request ended neither acknowledged nor in a 429: the test was inconclusive, and the next silence
    /// is tested.
    /// - Returns: Whether it was the test.
    mutating func endedOtherwise() -> Bool {
        guard test == .sent else { return false }
        test = .none
        return true
    }

    /// Called at a 429: the quotas are right.
    mutating func refuted() {
        fruitless = 0
        if test != .none { (test, patience) = (.none, min(2 * patience, Self.mostPatience)) }
    }
}
