/// A bulkhead's part of a call's slot: the first word has the case; the second has the ticket or the instant of entry.
enum BulkheadSlot {
    case outside
    case inside
    /// Inside, after a wait: the time that this call keeps its permit is a sample of the service time.
    case measured(since: MonotonicInstant)
    case queued(ticket: UInt64)

    @inline(__always) init(_ slot: PolicySlot) {
        self =
            switch slot.first {
            case 0: .outside
            case 1: .inside
            case 2: .measured(since: MonotonicInstant(word: slot.second))
            default: .queued(ticket: slot.second)
            }
    }

    /// A fast test; the usual call needs no other test.
    @inline(__always) static func isOutside(_ slot: PolicySlot) -> Bool { slot.first == 0 }
    @inline(__always) static func isInside(_ slot: PolicySlot) -> Bool { slot.first == 1 }

    /// Does not change the words that the case does not use.
    @inline(__always) func write(to slot: inout PolicySlot) {
        switch self {
        case .outside: slot.first = 0
        case .inside: slot.first = 1
        case .measured(let since): (slot.first, slot.second) = (2, since.word)
        case .queued(let ticket): (slot.first, slot.second) = (3, ticket)
        }
    }
}
