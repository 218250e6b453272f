extension Hedge {
    /// What a hedge tells its observers.
    public enum Event: PolicyEventDetail, Equatable {
        /// The hedge with this number, from 1, began this long after the first copy.
        case hedged(Int, after: Duration)
        /// The call ended with the result of the hedge with this number, this long after the first copy began.
        case won(Int, after: Duration)
        /// A hedge was due, and the budget did not allow it.
        case budgetExhausted

        public var kind: String {
            switch self {
            case .hedged: "hedged"
            case .won: "won"
            case .budgetExhausted: "budgetExhausted"
            }
        }

        public var severity: PolicyEventSeverity { .debug }

        public var description: String {
            switch self {
            case .hedged(let number, let wait): "beginning hedge \(number) after \(wait.text)"
            case .won(let number, let wait): "hedge \(number) was first, after \(wait.text)"
            case .budgetExhausted: "the budget allows no hedge"
            }
        }
    }
}
