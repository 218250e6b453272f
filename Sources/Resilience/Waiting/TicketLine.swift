/// A waiting line, in order of joining, that anybody may leave from the middle. Every operation is O(1), amortised.
struct TicketLine<Member: Sendable>: Sendable {
    private(set) var members: [UInt64: Member] = [:]
    /// Tickets in order of joining; those no longer in `members` have left. Compacted when half of it has.
    private(set) var order: [UInt64] = []
    /// Where those begin who were not served.
    private(set) var first = 0
    private(set) var last: UInt64

    /// - Parameter ticket: the one before the first that is given out.
    init(after ticket: UInt64 = 0) { last = ticket }

    var count: Int { members.count }
    var isEmpty: Bool { members.isEmpty }

    /// Whoever has this ticket; nil if not in line. Set to change one who is.
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

    /// - Returns: who has left; nil if they had left before.
    @discardableResult
    mutating func leave(_ ticket: UInt64) -> Member? {
        guard let member = members.removeValue(forKey: ticket) else { return nil }
        compact()
        return member
    }

    /// All leave, in order.
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
    /// Whoever has left makes no difference.
    static func == (lhs: Self, rhs: Self) -> Bool { (lhs.last, lhs.members) == (rhs.last, rhs.members) }
}
