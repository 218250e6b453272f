/// Decides whose fault a failure is, the mutation's or the other side's, from the results of other mutations.
///
/// One failure alone is inconclusive: a mutation that breaks its server looks like any mutation at a broken server. But
/// if the other side fails a share of its calls at random, the likelihood of n failures in a row of one mutation is the
/// nth power of that share. So each failure multiplies the likelihood that the other side is to blame by the share of
/// other mutations that failed since the mutation's previous failure. Each factor of ten counts as one failure of the
/// mutation.
struct FailureWitnesses: Sendable, Hashable {
    /// The results of a kind's mutations so far.
    struct Tally: Sendable, Hashable {
        var delivered = 0
        var failed = 0
    }

    private struct Failing: Sendable, Hashable {
        /// The number of failures in a row.
        var failures: Int
        /// The likelihood that the other side alone explains the failures not yet counted.
        var likelihood: Double
        /// The tally at the last failure.
        var tally: Tally
        /// The number of the last failure, among all failures.
        var number: Int
    }

    /// How many failing mutations to remember at most; beyond that, those whose last failure is oldest are removed.
    static let most = 20_000
    /// When the likelihood has fallen to this, one failure counts. No single failure counts as more than one.
    private static let counted = 0.1

    private var tallies: [String: Tally] = [:]
    private var failing: [Int64: Failing] = [:]
    private var number = 0

    func tally(of kind: String) -> Tally { tallies[kind] ?? Tally() }

    /// The number of failures in a row since the queue was made.
    func failures(of position: Int64) -> Int { failing[position]?.failures ?? 0 }

    mutating func delivered(_ mutation: LaneHead) {
        tallies[mutation.kind, default: Tally()].delivered += 1
        forget(mutation.position)
    }

    /// - Parameter sent: The tally when the mutation was sent.
    /// - Returns: Whether one more failure counts against it.
    mutating func failed(_ mutation: LaneHead, sent: Tally) -> Bool {
        var record = failing[mutation.position] ?? Failing(failures: 0, likelihood: 1, tally: sent, number: 0)
        let now = tally(of: mutation.kind)
        let (delivered, failed) = (now.delivered - record.tally.delivered, now.failed - record.tally.failed)
        // Including this failure, so that a single other mutation that got through proves little.
        let share = Double(failed + 1) / Double(delivered + failed + 1)
        record.likelihood *= max(Self.counted, share)
        // With some room for rounding.
        let counts = record.likelihood < Self.counted * 1.000_001
        if counts { record.likelihood /= Self.counted }
        tallies[mutation.kind, default: Tally()].failed += 1
        number += 1
        record.failures += 1
        (record.tally, record.number) = (tally(of: mutation.kind), number)
        failing[mutation.position] = record
        if failing.count > Self.most { failing = failing.filter { $1.number > number - Self.most / 2 } }
        return counts
    }

    /// The mutation has left the queue.
    mutating func forget(_ position: Int64) { failing[position] = nil }

    mutating func forgetAll() { failing = [:] }
}
