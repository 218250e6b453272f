import Resilience
import Synchronization

/// Whether the first copy of a call may begin on its caller's thread, which is what makes it cheap.
///
/// Until that copy suspends for the first time, its caller can begin no hedge: it stands below it on the same stack. So
/// after a first copy whose first step took longer than the hedge's delay, since it blocks its thread, for example, the next
/// calls begin theirs on another thread. Then one tries again: a thread may have been late for once.
struct FirstSteps: ~Copyable, Sendable {
    static let callsElsewhere = 1_000

    /// How many calls do not try it.
    private let elsewhere = Atomic(0)

    /// - Parameters:
    ///   - isolation: The caller's. Copies run away from its actor.
    ///   - delay: How long the call waits before it begins a hedge, in nanoseconds; nil if only a failure begins one.
    @inline(never)  // Inlined into an async function, the comparison ends the compiler (Swift 6.3.1).
    func mayBeHere(in isolation: (any Actor)?, before delay: Int64?) -> Bool {
        guard isolation == nil else { return false }
        guard let delay else { return true }
        guard delay > 0 else { return false }
        guard elsewhere.load(ordering: .relaxed) > 0 else { return true }
        elsewhere.wrappingSubtract(1, ordering: .relaxed)
        return false
    }

    /// A first copy has suspended, or ended, on its caller's thread.
    func took(_ time: Duration, of delay: Int64?) {
        guard let delay, time >= .nanoseconds(delay) else { return }
        elsewhere.store(Self.callsElsewhere, ordering: .relaxed)
    }

    func reset() { elsewhere.store(0, ordering: .relaxed) }
}
