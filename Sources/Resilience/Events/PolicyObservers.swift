public import Synchronization

/// The observers of a policy or a pipeline.
///
/// Observers can be added and removed at any time, even while an event is sent.
///
/// Without observers, an event costs one atomic load.
public final class PolicyObservers: Sendable {
    private struct Entry: Sendable {
        let observer: any PolicyObserver
        let least: PolicyEventSeverity
        /// The least severity that the observer wants among the events of calls.
        let leastInCalls: PolicyEventSeverity
        /// Whether a meter of the observer counts the ends of calls.
        let isMetering: Bool

        init(_ observer: any PolicyObserver, isMetering: Bool = false) {
            (self.observer, self.isMetering) = (observer, isMetering)
            least = observer.leastSeverity
            leastInCalls = isMetering ? max(least, .debug) : least
        }
    }

    private struct Added {
        var entries: [(id: UInt64, entry: Entry)] = []
        var lastID: UInt64 = 0
    }

    /// The initial observers, which stay: read without a lock.
    private let first: [Entry]
    private let added = Locked(Added())
    /// The least severity that any observer wants; above all severities if there is no observer.
    @usableFromInline let least: Atomic<UInt8>
    /// The same for the events of calls only.
    @usableFromInline let leastInCalls: Atomic<UInt8>
    /// The same for the ends of attempts and calls only.
    private let leastOfEnds: Atomic<UInt8>
    private let hasAdded = Atomic(false)

    /// Creates a list of observers.
    ///
    /// - Parameter observers: The first observers, which can't be removed.
    public init(_ observers: (any PolicyObserver)...) {
        first = observers.map { Entry($0, isMetering: $0 is any MeteringObserver) }
        let least = Least(first, [])
        self.least = Atomic(least.all)
        leastInCalls = Atomic(least.inCalls)
        leastOfEnds = Atomic(least.ends)
    }

    private struct Least {
        let all: UInt8
        let inCalls: UInt8
        let ends: UInt8

        init(_ first: [Entry], _ added: [(id: UInt64, entry: Entry)]) {
            let entries = first + added.map(\.entry)
            all = entries.map(\.least.rawValue).min() ?? .max
            inCalls = entries.map(\.leastInCalls.rawValue).min() ?? .max
            ends = entries.filter { !$0.isMetering }.map(\.least.rawValue).min() ?? .max
        }
    }

    /// The meters for the calls of a pipeline with this name.
    func meters(of pipeline: String?) -> [any CallMeter] {
        guard let pipeline else { return [] }
        return first.compactMap { ($0.observer as? any MeteringObserver)?.meter(of: pipeline) }
    }

    /// Creates a list of one observer, a closure, which can't be removed.
    ///
    /// - Parameter body: Receives an event. It may be called concurrently, and must not block.
    public convenience init(_ body: @escaping @Sendable (PolicyEvent) -> Void) {
        self.init(ClosureObserver(body: body))
    }

    /// Whether there are no observers.
    @inlinable public var isEmpty: Bool { least.load(ordering: .relaxed) == .max }

    /// Returns whether an observer wants events of a severity.
    ///
    /// - Parameter severity: The severity.
    @inlinable public func want(_ severity: PolicyEventSeverity) -> Bool {
        least.load(ordering: .relaxed) <= severity.rawValue
    }

    /// Returns whether an observer wants events of calls that have a severity.
    @inlinable func wantInCalls(_ severity: PolicyEventSeverity) -> Bool {
        leastInCalls.load(ordering: .relaxed) <= severity.rawValue
    }

    /// Returns whether an observer wants the ends of attempts and calls that have a severity.
    func wantEnds(_ severity: PolicyEventSeverity) -> Bool { leastOfEnds.load(ordering: .relaxed) <= severity.rawValue }

    /// Adds an observer, which stays until ``Subscription/cancel()``.
    ///
    /// - Parameter observer: The observer.
    /// - Returns: The subscription, which removes the observer again.
    @discardableResult
    public func add(_ observer: some PolicyObserver) -> Subscription {
        // Made outside of the lock, since it calls the observer.
        let entry = Entry(observer)
        return added.withLock { added in
            added.lastID += 1
            added.entries.append((added.lastID, entry))
            noteLeast(added)
            return Subscription(observers: self, id: added.lastID)
        }
    }

    /// Adds a closure as an observer, which stays until ``Subscription/cancel()``.
    ///
    /// - Parameter body: Receives an event. It may be called concurrently, and must not block.
    /// - Returns: The subscription, which removes the observer again.
    @discardableResult
    public func add(_ body: @escaping @Sendable (PolicyEvent) -> Void) -> Subscription {
        add(ClosureObserver(body: body))
    }

    /// Sends an event to all present observers.
    ///
    /// - Parameter event: The event.
    public func send(_ event: PolicyEvent) {
        let severity = event.detail.severity
        guard want(severity) else { return }
        for index in first.indices where first[index].least <= severity { first[index].observer.receive(event) }
        if hasAdded.load(ordering: .relaxed) { sendToAdded(event, severity) }
    }

    /// Sends an event of a call.
    func sendInCall(_ event: PolicyEvent) {
        let severity = event.detail.severity
        guard wantInCalls(severity) else { return }
        for index in first.indices where first[index].leastInCalls <= severity { first[index].observer.receive(event) }
        if hasAdded.load(ordering: .relaxed) { sendToAdded(event, severity) }
    }

    /// Sends the end of an attempt or of a call.
    func sendEnd(_ event: PolicyEvent, _ severity: PolicyEventSeverity) {
        for index in first.indices where !first[index].isMetering && first[index].least <= severity {
            first[index].observer.receive(event)
        }
        if hasAdded.load(ordering: .relaxed) { sendToAdded(event, severity) }
    }

    @inline(never) private func sendToAdded(_ event: PolicyEvent, _ severity: PolicyEventSeverity) {
        for (_, entry) in added.withLock({ $0.entries }) where entry.least <= severity { entry.observer.receive(event) }
    }

    private func noteLeast(_ added: Added) {
        let least = Least(first, added.entries)
        self.least.store(least.all, ordering: .relaxed)
        leastInCalls.store(least.inCalls, ordering: .relaxed)
        leastOfEnds.store(least.ends, ordering: .relaxed)
        hasAdded.store(!added.entries.isEmpty, ordering: .relaxed)
    }

    /// Sends an event outside of a pipeline's calls. The event is made only if there is an observer.
    package func send(
        _ event: @autoclosure () -> any PolicyEventDetail, from policy: String,
        at time: @autoclosure () -> MonotonicInstant
    ) {
        guard !isEmpty else { return }
        send(PolicyEvent(policy: policy, pipeline: nil, time: time(), detail: event()))
    }

    private func remove(_ id: UInt64) {
        // The removed observer is released after the lock: its deinit may be user code.
        let removed = added.withLock { added -> Entry? in
            guard let index = added.entries.firstIndex(where: { $0.id == id }) else { return nil }
            let (_, entry) = added.entries.remove(at: index)
            noteLeast(added)
            return entry
        }
        _ = removed
    }

    /// A handle to remove an added observer.
    ///
    /// Dropping it changes nothing; ``cancel()`` removes the observer.
    public struct Subscription: Sendable {
        fileprivate weak let observers: PolicyObservers?
        fileprivate let id: UInt64

        /// Removes the observer.
        ///
        /// An event that is being sent may still reach it.
        public func cancel() { observers?.remove(id) }
    }
}
