import Synchronization

/// What a call may do without asking the circuit: go in, and report a success.
///
/// It is a copy of what the circuit last said, written under the breaker's lock. Successes that may be batched are
/// counted here. The circuit is told them before any other input, so nothing arrives out of order.
struct FreePass: ~Copyable, Sendable {
    /// The generation that calls are admitted in; below it two bits, see `Mark`. 0 if calls have to ask.
    private let admission = Atomic<UInt64>(0)
    /// The low half of the generation; below it the number of successes counted in it.
    private let tally = Atomic<UInt64>(0)
    /// Successes before this instant may be counted, in nanoseconds.
    private let tallyEnds = Atomic<Int64>(.min)

    private enum Mark {
        /// A success changes nothing.
        static let unmoved: UInt64 = 1
        /// Successes may be counted whatever the time is.
        static let timeless: UInt64 = 2
    }

    /// The generation to go in with; 0 if the call has to ask.
    var generation: UInt64 { admission.load(ordering: .acquiring) >> 2 }

    /// A call that went in with `generation`, without asking, has succeeded.
    /// - Returns: false if the circuit has to be told.
    @inline(__always) func succeeded(_ generation: UInt64, _ call: inout PolicyCall) -> Bool {
        let word = admission.load(ordering: .acquiring)
        guard word >> 2 == generation else { return false }
        if word & Mark.unmoved != 0 { return true }
        guard word & Mark.timeless != 0 || call.now.nanoseconds < tallyEnds.load(ordering: .relaxed) else {
            return false
        }
        return count(generation)
    }

    private static let most: UInt64 = 1 << 20
    /// A tally that counts for no generation; for a generation with the same low half, it is full.
    private static let sealed = UInt64.max

    @inline(__always) private func count(_ generation: UInt64) -> Bool {
        var word = tally.load(ordering: .relaxed)
        while word >> 32 == generation & 0xFFFF_FFFF, word & 0xFFFF_FFFF < Self.most {
            let (isDone, found) = tally.weakCompareExchange(
                expected: word, desired: word + 1, successOrdering: .releasing, failureOrdering: .relaxed)
            if isDone { return true }
            word = found
        }
        return false
    }

    /// Returns the successes counted since the last time, and seals the tally: until ``update(_:needs:tallyEnds:)``,
    /// all other successes have to take the lock. Else one could be counted in between, and be lost.
    ///
    /// Call it under the lock, before the circuit is told anything.
    func takeTally() -> Int { Int(tally.exchange(Self.sealed, ordering: .acquiring) & 0xFFFF_FFFF) }

    /// Sets what calls may do from now on. Call it under the lock, after the circuit was told anything.
    func update(_ generation: UInt64, needs: CircuitNeeds, tallyEnds end: @autoclosure () -> MonotonicInstant) {
        tally.store(generation << 32, ordering: .relaxed)
        guard !needs.contains(.admissions) else { return admission.store(0, ordering: .releasing) }
        var word = generation << 2
        if !needs.contains(.successes) {
            word |= Mark.unmoved
        } else {
            let end = end()
            if end == .distantFuture { word |= Mark.timeless }
            tallyEnds.store(end.nanoseconds, ordering: .relaxed)
        }
        admission.store(word, ordering: .releasing)
    }
}
