public import Synchronization

/// The observers of a policy or a pipeline. Observers can be added and removed at any time, also while an event is
/// sent.
///
/// Without observers, an event costs one atomic load.
public final class PolicyObservers: Sendable {
    private struct Entry: Sendable {
        var id: UInt64
        let observer: any PolicyObserver
        let least: PolicyEventSeverity

        init(_ id: UInt64, _ observer: any PolicyObserver) {
            (self.id, self.observer, least) = (id, observer, observer.leastSeverity)
        }
    }

    private struct State {
        var entries: [Entry] = []
        var lastID: UInt64 = 0

        /// The least severity that an observer wants; above all severities if there is none.
        var least: UInt8 { entries.map(\.least.rawValue).min() ?? .max }
    }

    private let state: Locked<State>
    @usableFromInline let least: Atomic<UInt8>

    /// Creates a list of observers.
    /// - Parameter observers: The first observers, which can't be removed.
    public init(_ observers: (any PolicyObserver)...) {
        let state = State(
            entries: observers.enumerated().map { Entry(UInt64($0.offset), $0.element) },
            lastID: UInt64(observers.count))
        least = Atomic(state.least)
        self.state = Locked(state)
    }

    /// Creates a list of one observer, a closure, which can't be removed.
    /// - Parameter body: Receives an event. It may be called concurrently, and must not block.
    public convenience init(_ body: @escaping @Sendable (PolicyEvent) -> Void) {
        self.init(ClosureObserver(body: body))
    }

    /// Whether there are no observers.
    @inlinable public var isEmpty: Bool { least.load(ordering: .relaxed) == .max }

    /// Returns whether an observer wants events of a severity.
    /// - Parameter severity: The severity.
    @inlinable public func want(_ severity: PolicyEventSeverity) -> Bool {
        least.load(ordering: .relaxed) <= severity.rawValue
    }

    /// Adds an observer, which stays until ``Subscription/cancel()``.
    /// - Parameter observer: The observer.
    /// - Returns: The subscription, which removes the observer again.
    @discardableResult
    public func add(_ observer: some PolicyObserver) -> Subscription {
        // Outside of the lock, since it asks the observer.
        var entry = Entry(0, observer)
        return state.withLock { state in
            state.lastID += 1
            entry.id = state.lastID
            state.entries.append(entry)
            least.store(state.least, ordering: .relaxed)
            return Subscription(observers: self, id: state.lastID)
        }
    }

    /// Adds a closure as an observer, which stays until ``Subscription/cancel()``.
    /// - Parameter body: Receives an event. It may be called concurrently, and must not block.
    /// - Returns: The subscription, which removes the observer again.
    @discardableResult
    public func add(_ body: @escaping @Sendable (PolicyEvent) -> Void) -> Subscription {
        add(ClosureObserver(body: body))
    }

    /// Sends an event to all observers that there are now.
    /// - Parameter event: The event.
    public func send(_ event: PolicyEvent) {
        let severity = event.detail.severity
        guard want(severity) else { return }
        for entry in state.withLock({ $0.entries }) where entry.least <= severity { entry.observer.receive(event) }
    }

    /// Sends an event that belongs to no call of a pipeline. The event is made only if there is an observer.
    package func send(
        _ event: @autoclosure () -> any PolicyEventDetail, from policy: String,
        at time: @autoclosure () -> MonotonicInstant
    ) {
        guard !isEmpty else { return }
        send(PolicyEvent(policy: policy, pipeline: nil, time: time(), detail: event()))
    }

    private func remove(_ id: UInt64) {
        // The removed observer is released after the lock: its deinit may be user code.
        let removed: Entry? = state.withLock { state in
            guard let index = state.entries.firstIndex(where: { $0.id == id }) else { return nil }
            let entry = state.entries.remove(at: index)
            least.store(state.least, ordering: .relaxed)
            return entry
        }
        _ = removed
    }

    /// A handle to remove an added observer. Dropping it changes nothing; ``cancel()`` removes the observer.
    public struct Subscription: Sendable {
        fileprivate weak let observers: PolicyObservers?
        fileprivate let id: UInt64

        /// Removes the observer. An event that is being sent may still reach it.
        public func cancel() { observers?.remove(id) }
    }
}
