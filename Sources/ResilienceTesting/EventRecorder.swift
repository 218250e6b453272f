public import Resilience

/// An observer that records every event, in order.
///
/// ```swift
/// let recorder = EventRecorder()
/// breaker.observers.add(recorder)
/// ...
/// #expect(
///     recorder.contains(
///         inOrder: [CircuitBreaker.Event.halfOpened, .recovered]))
/// ```
public final class EventRecorder: PolicyObserver {
    struct State: Counted {
        var events: [PolicyEvent] = []
        var watchers = CountWaiters()

        var count: Int { events.count }
    }

    let state = Locked(State())

    /// Creates a recorder without events.
    public init() {}

    public func receive(_ event: PolicyEvent) {
        let watchers = state.withLock { state in
            state.events.append(event)
            return state.takeReached()
        }
        for watcher in watchers { watcher.resume() }
    }

    /// All events so far, in order.
    public var events: [PolicyEvent] { state.withLock { $0.events } }

    /// Returns the events of one kind of policy, in order.
    ///
    /// - Parameter kind: The type of the events' detail, such as `CircuitBreaker.Event`.
    /// - Returns: The details of this type.
    public func events<Detail: PolicyEventDetail>(of kind: Detail.Type = Detail.self) -> [Detail] {
        events.compactMap { $0.detail as? Detail }
    }

    /// Returns the first event of a kind that meets a condition.
    ///
    /// - Parameters:
    ///   - kind: The type of the event's detail, such as `CircuitBreaker.Event`.
    ///   - fits: Whether an event matches; by default every event does.
    /// - Returns: The event's detail; nil if there is none.
    public func first<Detail: PolicyEventDetail>(
        _ kind: Detail.Type = Detail.self, where fits: (Detail) -> Bool = { _ in true }
    ) -> Detail? {
        events(of: kind).first(where: fits)
    }

    /// Counts the events of a kind that meet a condition.
    ///
    /// - Parameters:
    ///   - kind: The type of the events' detail, such as `CircuitBreaker.Event`.
    ///   - fits: Whether to count an event; by default every event counts.
    /// - Returns: The number of such events.
    public func count<Detail: PolicyEventDetail>(
        _ kind: Detail.Type = Detail.self, where fits: (Detail) -> Bool = { _ in true }
    ) -> Int {
        events(of: kind).count(where: fits)
    }

    /// Whether all these events came, in any order, each at least as often as listed.
    ///
    /// - Parameter expected: The events, of one kind.
    /// - Returns: Whether they came.
    public func contains<Detail: PolicyEventDetail & Equatable>(allOf expected: [Detail]) -> Bool {
        var rest = events(of: Detail.self)
        return expected.allSatisfy { detail in
            guard let index = rest.firstIndex(of: detail) else { return false }
            rest.remove(at: index)
            return true
        }
    }

    /// Whether all these events came in this order.
    ///
    /// Other events may have come in between.
    ///
    /// - Parameter expected: The events, of one kind.
    /// - Returns: Whether they came in this order.
    public func contains<Detail: PolicyEventDetail & Equatable>(inOrder expected: [Detail]) -> Bool {
        var rest = expected[...]
        for detail in events(of: Detail.self) where detail == rest.first { rest.removeFirst() }
        return rest.isEmpty
    }

    /// Waits until at least a number of events have come, or the task is cancelled.
    ///
    /// - Parameter count: The number of events to wait for, counted from the beginning or the last ``reset()``.
    public nonisolated(nonsending) func waitForEvents(_ count: Int) async { await state.wait(until: count) }

    /// Removes all events.
    public func reset() { state.withLock { $0.events = [] } }
}
