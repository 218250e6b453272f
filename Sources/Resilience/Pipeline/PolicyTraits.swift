/// The effects of a policy on its calls that matter for the order of policies.
///
/// ``Pipeline/warnings`` compares the traits of every two policies of a pipeline. A policy states its own in
/// ``Policy/traits``; by default it has none.
public struct PolicyTraits: Sendable, Hashable {
    /// How often one call may run the inside of the policy, 1 or more. 1 by default.
    public var maxAttempts = 1
    /// How many concurrent runs of the inside one call may have, 1 or more. 1 by default.
    public var maxCopies = 1
    /// Whether the policy runs the inside again after an inner policy rejected it.
    ///
    /// False by default.
    public var retriesRejections = false
    /// Whether a call may have to wait for its turn before the policy admits it.
    ///
    /// False by default.
    public var waits = false
    /// Whether a call inside keeps other calls out until it ends.
    ///
    /// False by default.
    public var holdsPermits = false
    /// Whether the policy limits how many calls it admits per unit of time.
    ///
    /// False by default.
    public var limitsRate = false
    /// Whether the time that the inside takes counts for or against the endpoint.
    ///
    /// False by default.
    public var measuresDuration = false
    /// Whether the policy rejects every call while it considers the endpoint to be failing.
    ///
    /// False by default.
    public var rejectsWhileFailing = false
    /// Whether the policy makes attempts fail in place of the operation.
    ///
    /// False by default.
    public var injectsFaults = false
    /// Whether the same object may be in a pipeline twice.
    ///
    /// True by default.
    ///
    /// Set it to false for a class whose calls hold something that they would then wait for, such as a permit: making a
    /// pipeline with the same object twice traps. It has no effect for a struct, which is never the same object.
    public var canNestInItself = true

    /// Creates traits.
    ///
    /// The defaults describe a policy without traits.
    ///
    /// - Parameters:
    ///   - maxAttempts: How often one call may run the inside of the policy, 1 or more.
    ///   - retriesRejections: Whether the policy runs the inside again after an inner policy rejected it.
    ///   - waits: Whether a call may have to wait for its turn before the policy admits it.
    ///   - holdsPermits: Whether a call inside keeps other calls out until it ends.
    ///   - limitsRate: Whether the policy limits how many calls it admits per unit of time.
    ///   - measuresDuration: Whether the time that the inside takes counts for or against the endpoint.
    ///   - rejectsWhileFailing: Whether the policy rejects every call while it considers the endpoint to be failing.
    ///   - canNestInItself: Whether the same object may be in a pipeline twice.
    ///   - maxCopies: How many concurrent runs of the inside one call may have, 1 or more.
    ///   - injectsFaults: Whether the policy makes attempts fail in place of the operation.
    public init(
        maxAttempts: Int = 1, retriesRejections: Bool = false, waits: Bool = false, holdsPermits: Bool = false,
        limitsRate: Bool = false, measuresDuration: Bool = false, rejectsWhileFailing: Bool = false,
        canNestInItself: Bool = true, maxCopies: Int = 1, injectsFaults: Bool = false
    ) {
        self.maxAttempts = maxAttempts
        self.retriesRejections = retriesRejections
        self.waits = waits
        self.holdsPermits = holdsPermits
        self.limitsRate = limitsRate
        self.measuresDuration = measuresDuration
        self.rejectsWhileFailing = rejectsWhileFailing
        self.canNestInItself = canNestInItself
        self.maxCopies = maxCopies
        self.injectsFaults = injectsFaults
    }

    /// Returns the known mistakes of `inner` inside of a policy with these traits.
    func mistakes(around inner: PolicyTraits) -> [String] {
        var mistakes: [String] = []
        let repeats = inner.maxAttempts > 1
        if maxAttempts > 1, repeats {
            let attempts = maxAttempts.saturatingMultiplied(by: inner.maxAttempts)
            mistakes.append("attempts multiply, up to \(attempts) per call")
        }
        if maxCopies > 1, repeats {
            let attempts = maxCopies.saturatingMultiplied(by: inner.maxAttempts)
            mistakes.append("each copy of a call tries again by itself, up to \(attempts) attempts per call")
        }
        if maxCopies > 1, inner.maxCopies > 1 { mistakes.append("only the outer one makes copies of a call") }
        if holdsPermits, inner.maxCopies > 1 { mistakes.append("the copies of a call share one permit") }
        if limitsRate, inner.maxCopies > 1 { mistakes.append("only the first copy of a call is throttled") }
        if maxAttempts > 1, retriesRejections, inner.rejectsWhileFailing {
            mistakes.append("calls that an open circuit rejects are tried again")
        }
        if holdsPermits, repeats { mistakes.append("a call keeps its permit while it waits for its next attempt") }
        if holdsPermits, inner.waits { mistakes.append("a call keeps its permit while it waits for its turn") }
        if limitsRate, repeats { mistakes.append("only the first attempt of a call is throttled") }
        if holdsPermits || limitsRate, inner.rejectsWhileFailing {
            mistakes.append("calls wait for their turn, and then an open circuit rejects them")
        }
        if injectsFaults, repeats { mistakes.append("what it injects is never tried again") }
        if injectsFaults, inner.rejectsWhileFailing { mistakes.append("what it injects never opens the circuit") }
        if measuresDuration, repeats || inner.waits { mistakes.append("its waits count as the endpoint's slowness") }
        return mistakes
    }
}
