/// A breaker's part of a call's slot.
///
/// - For an admitted call: the first word has the generation; the second has the ticket and, in its lowest bit, whether
///   the beginning is known; the third has the beginning.
/// - For a call that waits for the probes: a mark, the call's place in line, and until when the call may wait.
enum CircuitBreakerSlot {
    case admitted(generation: UInt64, ticket: UInt64 = 0, began: MonotonicInstant? = nil)
    case parked(ticket: UInt64, latest: MonotonicInstant)

    private static let mark = UInt64.max

    @inline(__always) init(_ slot: PolicySlot) {
        let time = MonotonicInstant(word: slot.third)
        if slot.first == Self.mark {
            self = .parked(ticket: slot.second, latest: time)
        } else {
            self = .admitted(
                generation: slot.first, ticket: slot.second >> 1, began: slot.second & 1 == 1 ? time : nil)
        }
    }

    @inline(__always) var slot: PolicySlot {
        var slot = PolicySlot()
        switch self {
        case .admitted(let generation, let ticket, let began):
            (slot.first, slot.second) = (generation, ticket << 1 | (began == nil ? 0 : 1))
            slot.third = began?.word ?? 0
        case .parked(let ticket, let latest):
            (slot.first, slot.second) = (Self.mark, ticket)
            slot.third = latest.word
        }
        return slot
    }

    /// The generation of an admitted call. For a parked call it is the mark, which is not a generation.
    @inline(__always) static func generation(of slot: PolicySlot) -> UInt64 { slot.first }

    /// When an admitted call without a ticket began; nil if the beginning is unknown, or for any other call.
    @inline(__always) static func beginning(of slot: PolicySlot) -> MonotonicInstant? {
        slot.second == 1 && slot.first != mark ? MonotonicInstant(word: slot.third) : nil
    }
}
