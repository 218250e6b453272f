import Synchronization

/// The notes on one observed call: its waits, added up by policy, and its latest failure. Several tasks may use them:
/// an around policy may run its inside in another task.
@usableFromInline package final class CallNotes: Sendable {
    private struct State: Sendable {
        var waits: [PolicyWait] = []
        /// The failure of the latest failed attempt.
        var lastFailure: FailureDetail?
    }

    private let state = Locked(State())
    /// Whether the policies are now learning of the last failure. A successful call reads only this.
    private let isFailing = Atomic(false)

    package init() {}

    /// One wait for each policy, in the order of their first waits.
    package var waits: [PolicyWait] { state.withLock { $0.waits } }

    /// The failure that the policies are now learning of; nil if there is none.
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

    /// The policies have learned of the attempt's end.
    func goOn() { if isFailing.load(ordering: .relaxed) { isFailing.store(false, ordering: .relaxed) } }

    /// An attempt has failed.
    func failed(with failure: FailureDetail?) {
        state.withLock { $0.lastFailure = failure }
        isFailing.store(true, ordering: .releasing)
    }
}
