import Resilience
import Synchronization

/// Lets a call enter, and report a success, without asking an adaptive throttle that rejects nothing.
///
/// It is a copy of the machine's last answer, written under the throttle's lock. Before any other input, the machine
/// gets the successes that were counted here.
struct CalmPass: ~Copyable, Sendable {
    /// The number of the tally in the high half, and its successes in the low half.
    private let tally = Atomic<UInt64>(sealed)
    /// Before this instant, in nanoseconds, every call enters; `Int64.max` if calls always enter.
    private let calmEnds = Atomic<Int64>(.min)
    /// Before this instant, in nanoseconds, successes may be counted here.
    private let tallyEnds = Atomic<Int64>(.min)
    /// The number of tallies so far. Changed only under the lock.
    private let tallies = Atomic<UInt64>(0)

    private static let most: UInt64 = 1 << 20
    /// A tally in which nothing may be counted.
    private static let sealed = UInt64.max

    /// Whether the call enters.
    @inline(__always) func admits(_ call: inout PolicyCall) -> Bool {
        let ends = calmEnds.load(ordering: .acquiring)
        return ends == .max || call.now.nanoseconds < ends
    }

    /// A call has succeeded.
    /// - Returns: false if the call must report to the machine.
    @inline(__always) func succeeded(_ call: inout PolicyCall) -> Bool {
        while true {
            // Read the tally first: if its end is written later, the tally changes, and the exchange fails.
            let word = tally.load(ordering: .acquiring)
            guard word & 0xFFFF_FFFF < Self.most, call.now.nanoseconds < tallyEnds.load(ordering: .acquiring) else {
                return false
            }
            let (isDone, _) = tally.weakCompareExchange(
                expected: word, desired: word + 1, successOrdering: .acquiringAndReleasing, failureOrdering: .relaxed)
            if isDone { return true }
        }
    }

    /// Returns the successes since the last time. Until ``update(_:)``, all other calls take the lock. Call this method
    /// under the lock, before any input of the machine.
    func takeTally() -> Int {
        let word = tally.exchange(Self.sealed, ordering: .acquiring)
        return word == Self.sealed ? 0 : Int(word & 0xFFFF_FFFF)
    }

    /// Sets what calls may do from now on. Call it under the lock, after any input of the machine.
    func update(_ machine: borrowing AdaptiveThrottleStateMachine) {
        guard let ends = machine.calmEnds else { return calmEnds.store(.min, ordering: .releasing) }
        tallyEnds.store(machine.stretchEnds.nanoseconds, ordering: .releasing)
        calmEnds.store(ends.nanoseconds, ordering: .releasing)
        tally.store(tallies.wrappingAdd(1, ordering: .relaxed).newValue << 32, ordering: .releasing)
    }
}
