import Synchronization

/// Who listens to a policy or a pipeline. Listening can begin and end at any time, from inside a delivery too.
///
/// Nobody listening costs one atomic load.
public final class PolicyObservers: Sendable {
    private struct Entry: Sendable {
        let id: UInt64
        let observer: any PolicyObserver
    }

    private struct State {
        var entries: [Entry] = []
        var lastID: UInt64 = 0
    }

    private let state: Locked<State>
    private let count: Atomic<Int>

    public init(_ observers: (any PolicyObserver)...) {
        let entries = observers.enumerated().map { Entry(id: UInt64($0.offset), observer: $0.element) }
        state = Locked(State(entries: entries, lastID: UInt64(entries.count)))
        count = Atomic(entries.count)
    }

    /// Whether anybody listens.
    public var isEmpty: Bool { count.load(ordering: .relaxed) == 0 }

    /// Adds an observer, until ``Subscription/cancel()``.
    @discardableResult
    public func add(_ observer: some PolicyObserver) -> Subscription {
        state.withLock { state in
            state.lastID += 1
            state.entries.append(Entry(id: state.lastID, observer: observer))
            count.store(state.entries.count, ordering: .relaxed)
            return Subscription(observers: self, id: state.lastID)
        }
    }

    /// Adds a closure, until ``Subscription/cancel()``.
    @discardableResult
    public func add(_ body: @escaping @Sendable (PolicyEvent) -> Void) -> Subscription { add(ClosureObserver(body)) }

    /// Tells everybody who listens now.
    public func send(_ event: PolicyEvent) {
        for entry in state.withLock({ $0.entries }) { entry.observer.receive(event) }
    }

    /// Tells everybody of something that no call of a pipeline did. The event is made only if somebody listens.
    func send(
        _ event: @autoclosure () -> any PolicyEventDetail, from policy: String,
        at time: @autoclosure () -> MonotonicInstant
    ) {
        guard !isEmpty else { return }
        send(PolicyEvent(policy: policy, pipeline: nil, time: time(), detail: event()))
    }

    private func remove(_ id: UInt64) {
        // What is removed is let go of after the lock: its deinit may be a user's code.
        let removed: Entry? = state.withLock { state in
            guard let index = state.entries.firstIndex(where: { $0.id == id }) else { return nil }
            let entry = state.entries.remove(at: index)
            count.store(state.entries.count, ordering: .relaxed)
            return entry
        }
        _ = removed
    }

    /// The receipt for having been added. Dropping it changes nothing; ``cancel()`` ends the listening.
    public struct Subscription: Sendable {
        fileprivate weak let observers: PolicyObservers?
        fileprivate let id: UInt64

        public func cancel() { observers?.remove(id) }
    }
}
