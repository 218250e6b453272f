/// What the slot of a call holds: in the first word where it stands, in the second its ticket or when it came inside.
enum BulkheadSlot {
    case outside
    case inside
    /// One that had to wait, and by which the next waits are estimated.
    case measured(since: MonotonicInstant)
    case queued(ticket: UInt64)

    @inline(__always) init(_ slot: PolicySlot) {
        self =
            switch slot.first {
            case 0: .outside
            case 1: .inside
            case 2: .measured(since: MonotonicInstant(nanoseconds: Int64(bitPattern: slot.second)))
            default: .queued(ticket: slot.second)
            }
    }

    /// For the usual call, which needs no more of it.
    @inline(__always) static func isOutside(_ slot: PolicySlot) -> Bool { slot.first == 0 }
    @inline(__always) static func isInside(_ slot: PolicySlot) -> Bool { slot.first == 1 }

    /// What it has nothing to say in stays as it is.
    @inline(__always) func write(to slot: inout PolicySlot) {
        switch self {
        case .outside: slot.first = 0
        case .inside: slot.first = 1
        case .measured(let since): (slot.first, slot.second) = (2, UInt64(bitPattern: since.nanoseconds))
        case .queued(let ticket): (slot.first, slot.second) = (3, ticket)
        }
    }
}
