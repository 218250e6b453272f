/// The calls that wait for a throttle, in the order they came. Joining and leaving, also from the middle, are O(1),
/// amortised.
struct ThrottleLine: Sendable, Equatable {
    struct Member: Sendable, Equatable {
        let cost: Int
        let since: Instant
    }

    /// By tickets, which are numbered in the order they came.
    private var members: [UInt64: Member] = [:]
    private var first: UInt64 = 1
    private var last: UInt64 = 0
    /// Exact, so that it comes back to zero whatever the calls cost.
    private var total: Int128 = 0

    var count: Int { members.count }
    var isEmpty: Bool { first > last }
    /// Of all that wait.
    var cost: Int { Int(clamping: total) }

    var head: (ticket: UInt64, member: Member)? { members[first].map { (first, $0) } }

    mutating func join(_ member: Member) -> UInt64 {
        last += 1
        members[last] = member
        total += Int128(member.cost)
        return last
    }

    /// - Returns: false if it has left already.
    mutating func leave(_ ticket: UInt64) -> Bool {
        guard let member = members.removeValue(forKey: ticket) else { return false }
        total -= Int128(member.cost)
        while first <= last, members[first] == nil { first += 1 }
        return true
    }
}
