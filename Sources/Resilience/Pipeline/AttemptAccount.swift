/// What a budget that several policies of a pipeline share knows of the present attempt of a call: so they pay for it, and
/// tell how it ended, once.
@usableFromInline package struct AttemptAccount: Sendable {
    /// nil if no policy has paid for the attempt, or told how it ended.
    var budget: ObjectIdentifier?
    /// What was paid, in the budget's own terms.
    var payment: UInt8 = 0
    /// Whether a policy has told how the attempt ended.
    @usableFromInline var isTold = false
    /// Whether it said that such failures are repeated.
    var mayPass = false

    @usableFromInline init() {}

    init(budget: ObjectIdentifier, payment: UInt8, isTold: Bool = false, mayPass: Bool = false) {
        self.budget = budget
        self.payment = payment
        self.isTold = isTold
        self.mayPass = mayPass
    }
}
