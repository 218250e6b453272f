/// A waiting line in order of joining. Any member may leave. Every operation is amortised O(1).
struct TicketLine<Member: Sendable>: Sendable {
    private(set) var members: [UInt64: Member] = [:]
    /// Tickets in order of joining. Tickets not in `members` have left; the array is compacted when more than half have
    /// left.
    private(set) var order: [UInt64] = []
    /// The index in `order` of the first ticket that was not popped from the front.
    private(set) var first = 0
    private(set) var last: UInt64

    /// - Parameter ticket: The number before the first ticket.
    init(after ticket: UInt64 = 0) { last = ticket }

    var count: Int { members.count }
    var isEmpty: Bool { members.isEmpty }

    /// The member with this ticket; nil if it is not in line. Setting changes only a member that is in line.
    subscript(_ ticket: UInt64) -> Member? {
        get { members[ticket] }
        set { if let newValue, members[ticket] != nil { members[ticket] = newValue } }
    }

    mutating func join(_ member: Member) -> UInt64 {
        last += 1
        members[last] = member
        order.append(last)
        return last
    }

    mutating func popFirst() -> UInt64? {
        while first < order.count {
            let ticket = order[first]
            first += 1
            if members.removeValue(forKey: ticket) != nil {
                compact()
                return ticket
            }
        }
        return nil
    }

    /// The member that joined first.
    mutating func oldest() -> Member? {
        while first < order.count {
            if let member = members[order[first]] { return member }
            first += 1
        }
        return nil
    }

    mutating func popLast() -> UInt64? {
        while first < order.count {
            let ticket = order.removeLast()
            if members.removeValue(forKey: ticket) != nil {
                compact()
                return ticket
            }
        }
        return nil
    }

    /// - Returns: The member that has left; nil if it was not in line.
    @discardableResult
    mutating func leave(_ ticket: UInt64) -> Member? {
        guard let member = members.removeValue(forKey: ticket) else { return nil }
        compact()
        return member
    }

    /// Removes all members.
    /// - Returns: The members, in order.
    mutating func leaveAll() -> [Member] {
        let all = order[first...].compactMap { members[$0] }
        (members, order, first) = ([:], [], 0)
        return all
    }

    private mutating func compact() {
        guard order.count > 32, order.count > 2 * members.count else { return }
        order = order[first...].filter { members[$0] != nil }
        first = 0
    }
}

extension TicketLine where Member == Void {
    mutating func join() -> UInt64 { join(()) }
}

extension TicketLine: Equatable where Member: Equatable {
    /// Lines are equal even if their compaction differs: tickets that have left make no difference.
    static func == (lhs: Self, rhs: Self) -> Bool { (lhs.last, lhs.members) == (rhs.last, rhs.members) }
}
