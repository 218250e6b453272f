public import Resilience

/// An observer that remembers every event, in order.
///
/// ```swift
/// let recorder = EventRecorder()
/// breaker.observers.add(recorder)
/// ...
/// #expect(recorder.contains(inOrder: [CircuitBreaker.Event.halfOpened, .recovered]))
/// ```
public final class EventRecorder: PolicyObserver {
    struct State: Counted {
        var events: [PolicyEvent] = []
        var watchers = CountWaiters()

        var count: Int { events.count }
    }

    let state = Locked(State())

    public init() {}

    public func receive(_ event: PolicyEvent) {
        let watchers = state.withLock { state in
            state.events.append(event)
            return state.takeReached()
        }
        for watcher in watchers { watcher.resume() }
    }

    /// Everything so far.
    public var events: [PolicyEvent] { state.withLock { $0.events } }

    /// What one kind of policy did.
    public func events<Detail: PolicyEventDetail>(of kind: Detail.Type = Detail.self) -> [Detail] {
        events.compactMap { $0.detail as? Detail }
    }

    /// The first event of this kind that fits.
    public func first<Detail: PolicyEventDetail>(
        _ kind: Detail.Type = Detail.self, where fits: (Detail) -> Bool = { _ in true }
    ) -> Detail? {
        events(of: kind).first(where: fits)
    }

    /// How many events of this kind fit.
    public func count<Detail: PolicyEventDetail>(
        _ kind: Detail.Type = Detail.self, where fits: (Detail) -> Bool = { _ in true }
    ) -> Int {
        events(of: kind).count(where: fits)
    }

    /// Whether all these came, in any order, each as often as it is listed.
    public func contains<Detail: PolicyEventDetail & Equatable>(allOf expected: [Detail]) -> Bool {
        var rest = events(of: Detail.self)
        return expected.allSatisfy { detail in
            guard let index = rest.firstIndex(of: detail) else { return false }
            rest.remove(at: index)
            return true
        }
    }

    /// Whether all these came in this order, others in between or not.
    public func contains<Detail: PolicyEventDetail & Equatable>(inOrder expected: [Detail]) -> Bool {
        var rest = expected[...]
        for detail in events(of: Detail.self) where detail == rest.first { rest.removeFirst() }
        return rest.isEmpty
    }

    /// Returns once at least `count` events have come, or the task is cancelled.
    public nonisolated(nonsending) func waitForEvents(_ count: Int) async { await state.wait(until: count) }

    /// Forgets everything.
    public func reset() { state.withLock { $0.events = [] } }
}
