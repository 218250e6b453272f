/// How long one call has waited for one policy: for its turn, or for another attempt.
public struct PolicyWait: Sendable, Hashable {
    /// The policy's name.
    public let policy: String
    /// How long the call waited for it, in all.
    public let duration: Duration

    /// Creates a wait.
    /// - Parameters:
    ///   - policy: The policy's name.
    ///   - duration: How long the call waited for it, in all.
    public init(policy: String, duration: Duration) {
        self.policy = policy
        self.duration = duration
    }
}

/// Adds up the waits of one observed call. An around policy may run its inside in another task.
@usableFromInline final class WaitRecord: Sendable {
    private let state = Locked<[PolicyWait]>([])

    /// One for each policy, in the order of their first waits.
    var waits: [PolicyWait] { state.withLock { $0 } }

    func add(_ duration: Duration, of policy: String) {
        guard duration > .zero else { return }
        state.withLock { waits in
            let index = waits.firstIndex { $0.policy == policy }
            let sum = PolicyWait(policy: policy, duration: duration + (index.map { waits[$0].duration } ?? .zero))
            if let index { waits[index] = sum } else { waits.append(sum) }
        }
    }
}
