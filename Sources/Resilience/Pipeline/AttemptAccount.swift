/// The state of a call's present attempt in a budget that several policies share: the attempt is paid for once, and its
/// end is counted once.
@usableFromInline package struct AttemptAccount: Sendable {
    /// nil if no policy has paid for the attempt or reported its end.
    var budget: ObjectIdentifier?
    /// The payment, in the budget's own terms.
    var payment: UInt8 = 0
    /// Whether a policy has reported the end of the attempt.
    @usableFromInline var isTold = false
    /// Whether a policy that reported the end repeats such failures.
    var mayPass = false

    @usableFromInline init() {}

    init(budget: ObjectIdentifier, payment: UInt8, isTold: Bool = false, mayPass: Bool = false) {
        self.budget = budget
        self.payment = payment
        self.isTold = isTold
        self.mayPass = mayPass
    }
}
