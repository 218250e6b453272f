import Synchronization

/// A change of a circuit's state.
public struct CircuitTransition: Sendable, Hashable {
    public let from: CircuitState
    public let to: CircuitState
    /// When, on the breaker's time base. A break that is over ended at its time, however late that is told.
    public let time: MonotonicInstant

    public init(from: CircuitState, to: CircuitState, time: MonotonicInstant) {
        self.from = from
        self.to = to
        self.time = time
    }
}

extension CircuitBreaker {
    /// The changes of state from now on, in order. Costs calls that change none nothing.
    ///
    /// The end of a break is told when it comes, also if no call does: while somebody watches, an alarm is set for it.
    /// - Parameter limit: changes kept for a reader that lags behind; the oldest are dropped first.
    public func transitions(bufferingNewest limit: Int = 100) -> AsyncStream<CircuitTransition> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: CircuitTransition.self, bufferingPolicy: .bufferingNewest(max(1, limit)))
        let id = Self.nextWatcherID()
        watch(id) { continuation.yield($0) }
        continuation.onTermination = { [weak self] _ in self?.unwatch(id) }
        return stream
    }

    /// Tells of every change of state from now on, in order, outside every lock.
    /// - Parameter entry: of which of a registry's entries, several of which may share this breaker.
    func watch(_ id: UInt64, of entry: UInt64 = 0, _ watcher: @escaping @Sendable (CircuitTransition) -> Void) {
        inner.withLock { $0.watchers.add(WatcherID(stream: id, entry: entry), watcher) }
        plan()
    }

    private static let lastWatcherID = Atomic<UInt64>(0)

    /// Names a watcher, of however many breakers.
    static func nextWatcherID() -> UInt64 { lastWatcherID.add(1, ordering: .relaxed).newValue }

    func unwatch(_ id: UInt64, of entry: UInt64 = 0) {
        // What is removed is let go of after the lock: its deinit may be a user's code.
        _ = inner.withLock { $0.watchers.remove(WatcherID(stream: id, entry: entry)) }
        plan()
    }

    /// Whoever finds transitions to be told of tells them, one at a time: so their order is kept.
    func deliverTransitions() {
        while let (transitions, watchers) = inner.withLock({ $0.watchers.take() }) {
            for transition in transitions { for watcher in watchers { watcher(transition) } }
            inner.withLock { $0.watchers.isDelivering = false }
        }
    }

    struct WatcherID: Hashable {
        let stream: UInt64
        let entry: UInt64
    }

    /// Who watches a breaker, and what they have not been told.
    struct Watchers {
        typealias Watcher = @Sendable (CircuitTransition) -> Void

        private(set) var all: [(id: WatcherID, watcher: Watcher)] = []
        private var news: [CircuitTransition] = []
        var isDelivering = false

        var isEmpty: Bool { all.isEmpty }

        mutating func add(_ id: WatcherID, _ watcher: @escaping Watcher) { all.append((id, watcher)) }

        mutating func remove(_ id: WatcherID) -> Watcher? {
            all.firstIndex { $0.id == id }.map { all.remove(at: $0).watcher }
        }

        mutating func note(_ transition: CircuitTransition) {
            if !all.isEmpty { news.append(transition) }
        }

        /// The news, for whoever is to tell them; nil if there are none, or somebody is telling.
        mutating func take() -> ([CircuitTransition], [Watcher])? {
            guard !isDelivering, !news.isEmpty else { return nil }
            isDelivering = true
            defer { news = [] }
            return (news, all.map(\.watcher))
        }
    }
}
