public import Synchronization

/// The observers of a policy, made on first use, since few policies have any.
///
/// Not an `AtomicLazyReference`, whose `load` is not inlined and costs 300 instructions.
@usableFromInline package struct LazyObservers: ~Copyable, Sendable {
    /// Owns its referent.
    @usableFromInline let reference: Atomic<Unmanaged<PolicyObservers>?>
    /// Owns its referent, which is set once.
    private let home = Atomic<Unmanaged<PolicyHome>?>(nil)

    package init(_ observers: PolicyObservers?) { reference = Atomic(observers.map { Unmanaged.passRetained($0) }) }

    deinit {
        reference.load(ordering: .acquiring)?.release()
        home.load(ordering: .acquiring)?.release()
    }

    /// The policy was put into a pipeline. The first pipeline is its home.
    package func settle(in home: PolicyHome) {
        let retained = Unmanaged.passRetained(home)
        let (isFirst, _) = self.home.compareExchange(
            expected: nil, desired: retained, ordering: .acquiringAndReleasing)
        if !isFirst { retained.release() }
    }

    /// Sends an event outside of calls, such as a change by hand, to the observers of the policy and of its
    /// home.
    package func send(
        _ event: @autoclosure () -> any PolicyEventDetail, from policy: String,
        at time: @autoclosure () -> MonotonicInstant
    ) {
        let home = home.load(ordering: .acquiring)?.takeUnretainedValue()
        let (own, others) = (known, home?.observers)
        guard !(own?.isEmpty ?? true) || !(others?.isEmpty ?? true) else { return }
        let (event, time) = (event(), time())
        own?.send(PolicyEvent(policy: policy, pipeline: nil, time: time, detail: event))
        if others !== own {
            others?.send(PolicyEvent(policy: policy, pipeline: home?.pipeline, time: time, detail: event))
        }
    }

    /// nil if they were never requested.
    @inlinable @inline(__always) package var known: PolicyObservers? {
        reference.load(ordering: .acquiring)?.takeUnretainedValue()
    }

    /// Returns whether an observer wants events of a severity. Changes no reference count.
    @inlinable @inline(__always) package func want(_ severity: PolicyEventSeverity) -> Bool {
        reference.load(ordering: .acquiring)?._withUnsafeGuaranteedRef { $0.want(severity) } ?? false
    }

    package var made: PolicyObservers {
        if let known { return known }
        let made = Unmanaged.passRetained(PolicyObservers())
        let (isFirst, other) = reference.compareExchange(
            expected: nil, desired: made, ordering: .acquiringAndReleasing)
        if isFirst { return made.takeUnretainedValue() }
        made.release()
        // Never nil: another thread's object was first, and stays.
        return other!.takeUnretainedValue()
    }
}

/// The first pipeline of a policy, if it has observers: they also receive the policy's events outside of calls.
package final class PolicyHome: Sendable {
    let pipeline: String
    /// Not owned: an observer may hold the policy.
    weak let observers: PolicyObservers?

    init(_ pipeline: String, _ observers: PolicyObservers) { (self.pipeline, self.observers) = (pipeline, observers) }
}

/// A policy that sends events outside of calls.
package protocol HomedPolicy {
    func settle(in home: PolicyHome)
}
