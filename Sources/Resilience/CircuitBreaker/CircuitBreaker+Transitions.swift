import Synchronization

/// A change of a circuit's state.
public struct CircuitTransition: Sendable, Hashable, Codable {
    /// The state before.
    public let from: CircuitState
    /// The state after.
    public let to: CircuitState
    /// When the state changed, on the breaker's time base.
    ///
    /// The end of a break has its own time, even if it is noticed later.
    public let time: MonotonicInstant

    /// Creates a transition.
    ///
    /// - Parameters:
    ///   - from: The state before.
    ///   - to: The state after.
    ///   - time: When the state changed, on the breaker's time base.
    public init(from: CircuitState, to: CircuitState, time: MonotonicInstant) {
        self.from = from
        self.to = to
        self.time = time
    }

    private enum CodingKeys: String, CodingKey {
        case from, to
        case time = "timeNanoseconds"
    }
}

extension CircuitBreaker {
    /// Returns the changes of state from now on, in order.
    ///
    /// Calls that change no state pay nothing for this.
    ///
    /// The end of a break is reported at its time, even without a call: while there is a reader, an alarm is set for
    /// that time.
    /// - Parameter limit: How many changes are kept for a slow reader; the oldest are dropped first. Less than 1 counts
    ///   as 1.
    /// - Returns: The changes, as a stream.
    public func transitions(bufferingNewest limit: Int = 100) -> AsyncStream<CircuitTransition> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: CircuitTransition.self, bufferingPolicy: .bufferingNewest(max(1, limit)))
        let id = Self.nextWatcherID()
        watch(id) { continuation.yield($0) }
        continuation.onTermination = { [weak self] _ in self?.unwatch(id) }
        return stream
    }

    /// Calls a watcher for every change of state from now on, in order, outside all locks.
    /// - Parameter entry: The registry entry that is watched; several entries may share this breaker.
    func watch(_ id: UInt64, of entry: UInt64 = 0, _ watcher: @escaping @Sendable (CircuitTransition) -> Void) {
        inner.withLock { $0.needExtras().watchers.add(WatcherID(stream: id, entry: entry), watcher) }
        plan()
    }

    private static let lastWatcherID = Atomic<UInt64>(0)

    /// Returns an identifier for one watcher of any number of breakers.
    static func nextWatcherID() -> UInt64 { lastWatcherID.add(1, ordering: .relaxed).newValue }

    func unwatch(_ id: UInt64, of entry: UInt64 = 0) {
        // The watcher is released after the lock, since its deinit may be a user's code.
        _ = inner.withLock { $0.extras?.watchers.remove(WatcherID(stream: id, entry: entry)) }
        plan()
    }

    /// Reports pending transitions. Only one thread at a time does so, which keeps them in order.
    func deliverTransitions() {
        while let (transitions, watchers) = inner.withLock({ $0.extras?.watchers.take() }) {
            for transition in transitions { for watcher in watchers { watcher(transition) } }
            inner.withLock { $0.extras?.watchers.isDelivering = false }
        }
    }

    struct WatcherID: Hashable {
        let stream: UInt64
        let entry: UInt64
    }

    /// The watchers of a breaker, and their pending transitions.
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

        /// Returns the pending transitions and their watchers; nil if there are none, or if another thread is
        /// delivering them.
        mutating func take() -> ([CircuitTransition], [Watcher])? {
            guard !isDelivering, !news.isEmpty else { return nil }
            isDelivering = true
            defer { news = [] }
            return (news, all.map(\.watcher))
        }
    }
}
