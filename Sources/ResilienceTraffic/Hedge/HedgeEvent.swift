public import Resilience

extension Hedge {
    /// Why a hedge makes no copies of a call.
    public enum NoCopy: Sendable, Hashable, CaseIterable {
        /// The operation can't run concurrently: the call came through `run`, `runBlocking`, `open` or a permit; or its
        /// request must not be sent twice, or can't be, because its body can be read only once; or the call is itself a
        /// copy of an outer hedge.
        case runOnce
        /// The call is not marked as repeatable: a copy begins only after a failure that certainly had no effect.
        case unknownEffects
    }

    /// An event of a hedge.
    public enum Event: PolicyEventDetail, Equatable {
        /// The hedge with this number, from 1, began this long after the first copy.
        case hedged(Int, after: Duration)
        /// The call ended with the result of the hedge with this number, this long after the first copy began.
        case won(Int, after: Duration)
        /// A hedge was due, but the budget did not allow it.
        case budgetExhausted
        /// A call could not have copies.
        ///
        /// Sent only for the first call of each reason; ``HedgeStatus`` counts them all.
        case notCopied(NoCopy)

        public var kind: String {
            switch self {
            case .hedged: "hedged"
            case .won: "won"
            case .budgetExhausted: "budgetExhausted"
            case .notCopied: "notCopied"
            }
        }

        public var severity: PolicyEventSeverity {
            switch self {
            case .hedged, .won, .budgetExhausted: .debug
            case .notCopied: .notice
            }
        }

        public var fields: EventFields {
            switch self {
            case .hedged(let number, let wait), .won(let number, let wait): ["hedge": number, "wait": wait]
            case .budgetExhausted, .notCopied: [:]
            }
        }

        public var description: String {
            switch self {
            case .hedged(let number, let wait): "beginning hedge \(number) after \(wait.text)"
            case .won(let number, let wait): "hedge \(number) was first, after \(wait.text)"
            case .budgetExhausted: "the budget allows no hedge"
            case .notCopied(.runOnce):
                "calls through run, open or a permit, requests that can't be sent twice, and copies of another hedge have no copies; use runHedged"
            case .notCopied(.unknownEffects):
                "calls not marked as repeatable have no copies after the delay; if they are repeatable, set isIdempotent: true"
            }
        }
    }
}
