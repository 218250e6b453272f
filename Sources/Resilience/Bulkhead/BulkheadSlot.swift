/// What the slot of a call holds: in the first word where it stands, in the second its ticket or when it came inside.
enum BulkheadSlot {
    case outside
    case inside
    /// One that had to wait, and by which the next waits are estimated.
    case measured(since: Instant)
    case queued(ticket: UInt64)

    @inline(__always) init(_ slot: Slot) {
        self =
            switch slot.first {
            case 0: .outside
            case 1: .inside
            case 2: .measured(since: Instant(nanoseconds: Int64(bitPattern: slot.second)))
            default: .queued(ticket: slot.second)
            }
    }

    @inline(__always) var slot: Slot {
        var slot = Slot()
        switch self {
        case .outside: break
        case .inside: slot.first = 1
        case .measured(let since): (slot.first, slot.second) = (2, UInt64(bitPattern: since.nanoseconds))
        case .queued(let ticket): (slot.first, slot.second) = (3, ticket)
        }
        return slot
    }
}
