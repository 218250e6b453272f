import Synchronization

/// What is noted of one observed call: its waits, added up, and what its attempts failed with. An around policy may run
/// its inside in another task.
@usableFromInline package final class CallNotes: Sendable {
    private struct State: Sendable {
        var waits: [PolicyWait] = []
        /// What the latest attempt that failed did so with.
        var lastFailure: FailureDetail?
    }

    private let state = Locked(State())
    /// Whether the policies learn of the last failure just now. In a call that succeeds it is all that is read.
    private let isFailing = Atomic(false)

    package init() {}

    /// One for each policy, in the order of their first waits.
    package var waits: [PolicyWait] { state.withLock { $0.waits } }

    /// What the attempt failed with that the policies learn of just now; nil if none did.
    var failure: FailureDetail? { isFailing.load(ordering: .acquiring) ? lastFailure : nil }
    var lastFailure: FailureDetail? { state.withLock { $0.lastFailure } }

    package func add(_ duration: Duration, of policy: String) {
        state.withLock { state in
            let index = state.waits.firstIndex { $0.policy == policy }
            let sum = PolicyWait(
                policy: policy, duration: duration + (index.map { state.waits[$0].duration } ?? .zero))
            if let index { state.waits[index] = sum } else { state.waits.append(sum) }
        }
    }

    /// The policies have learned how the attempt ended.
    func goOn() { if isFailing.load(ordering: .relaxed) { isFailing.store(false, ordering: .relaxed) } }

    /// An attempt has failed.
    func failed(with failure: FailureDetail?) {
        state.withLock { $0.lastFailure = failure }
        isFailing.store(true, ordering: .releasing)
    }
}
