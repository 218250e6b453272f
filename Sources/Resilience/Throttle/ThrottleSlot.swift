/// A throttle's part of a call's slot.
///
/// The low byte of the first word is the stage; the other bytes are the generation in which the call was admitted. The
/// other two words are the ticket of a waiting call and the end of its wait; after the call's admission, they are the
/// receipt for its share.
struct ThrottleSlot: Sendable, Equatable {
    enum Stage: UInt8 {
        case outside, waiting, admitted, pace, probe
    }

    var stage = Stage.outside
    var generation: UInt64 = 0
    var second: UInt64 = 0
    var third: UInt64 = 0

    init(_ slot: PolicySlot) {
        stage = Stage(rawValue: UInt8(truncatingIfNeeded: slot.first)) ?? .outside
        (generation, second, third) = (slot.first >> 8, slot.second, slot.third)
    }

    /// Whether the call was admitted, but not as a probe or with ``ThrottleStateMachine/Answer/pace``: then its end
    /// matters only if it is a 429 or a rejection.
    @inline(__always) static func isAdmitted(_ slot: PolicySlot) -> Bool {
        slot.first & 0xFF == UInt64(Stage.admitted.rawValue)
    }

    init(waiting ticket: UInt64, until latest: MonotonicInstant) {
        (stage, second, third) = (.waiting, ticket, latest.word)
    }

    /// - Parameters:
    ///   - answer: An answer that lets the call go.
    ///   - machine: The machine. Borrowed, because a copy costs more than a call that finds permits.
    init(_ answer: ThrottleStateMachine.Answer, of machine: borrowing ThrottleStateMachine) {
        stage = answer == .probe ? .probe : answer == .pace ? .pace : .admitted
        generation = machine.generation
        receipt = machine.receipt
    }

    var slot: PolicySlot {
        var slot = PolicySlot()
        (slot.first, slot.second, slot.third) = (UInt64(stage.rawValue) | generation << 8, second, third)
        return slot
    }

    var ticket: UInt64 { second }
    var latest: MonotonicInstant { MonotonicInstant(word: third) }

    var receipt: ShareReceipt {
        get { ShareReceipt(first: second, second: third) }
        set { (second, third) = (newValue.first, newValue.second) }
    }
}
