import Synchronization

/// The observers of a policy that few observe: made when somebody asks for them.
///
/// Not an `AtomicLazyReference`, whose `load` is not inlined and costs 300 instructions.
struct LazyObservers: ~Copyable, Sendable {
    /// Owns what it refers to.
    private let reference: Atomic<Unmanaged<PolicyObservers>?>

    init(_ observers: PolicyObservers?) { reference = Atomic(observers.map { Unmanaged.passRetained($0) }) }

    deinit { reference.load(ordering: .acquiring)?.release() }

    /// nil if nobody has asked for them, and so there is none.
    @inline(__always) var known: PolicyObservers? { reference.load(ordering: .acquiring)?.takeUnretainedValue() }

    /// Whether there is no observer. Counts no reference.
    @inline(__always) var isEmpty: Bool {
        reference.load(ordering: .acquiring)?._withUnsafeGuaranteedRef { $0.isEmpty } ?? true
    }

    var made: PolicyObservers {
        if let known { return known }
        let made = Unmanaged.passRetained(PolicyObservers())
        let (isFirst, other) = reference.compareExchange(
            expected: nil, desired: made, ordering: .acquiringAndReleasing)
        if isFirst { return made.takeUnretainedValue() }
        made.release()
        // Never nil: another thread was first, and it stays.
        return other!.takeUnretainedValue()
    }
}
