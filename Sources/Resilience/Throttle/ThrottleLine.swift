/// The calls that wait for a throttle, in the order they came. Joining and leaving, also from the middle, are O(1),
/// amortised.
///
/// A call keeps its place until it goes. One that does not come when it is its turn, since where it would run is busy, is set
/// aside: the next is the head then, until it comes, and what it costs is in nobody's way.
struct ThrottleLine: Sendable, Equatable {
    struct Member: Sendable, Equatable {
        let cost: Int
        fileprivate(set) var isAside = false
    }

    /// By tickets, which are numbered in the order they came.
    private var members: [UInt64: Member] = [:]
    /// The first that is in line and not set aside.
    private var first: UInt64 = 1
    /// The next such.
    private var next: UInt64 = 2
    private var last: UInt64 = 0
    /// Exact, so that it comes back to zero whatever the calls cost.
    private var total: Int128 = 0

    var count: Int { members.count }
    var isEmpty: Bool { members.isEmpty }
    /// Of all that are not set aside.
    var cost: Int { Int(clamping: total) }

    /// nil if nobody is here.
    var head: (ticket: UInt64, member: Member)? { members[first].map { (first, $0) } }

    /// The one behind the head.
    var second: (ticket: UInt64, member: Member)? { members[next].map { (next, $0) } }

    subscript(_ ticket: UInt64) -> Member? { members[ticket] }

    mutating func join(cost: Int) -> UInt64 {
        last += 1
        members[last] = Member(cost: cost)
        total += Int128(cost)
        return last
    }

    /// - Returns: false if it has left already.
    mutating func leave(_ ticket: UInt64) -> Bool {
        guard let member = members.removeValue(forKey: ticket) else { return false }
        if !member.isAside { total -= Int128(member.cost) }
        findFirst()
        return true
    }

    mutating func setAside(_ ticket: UInt64) {
        guard let member = members[ticket], !member.isAside else { return }
        members[ticket]?.isAside = true
        total -= Int128(member.cost)
        findFirst()
    }

    /// It has come, after all.
    mutating func comes(_ ticket: UInt64) {
        guard let member = members[ticket], member.isAside else { return }
        members[ticket]?.isAside = false
        total += Int128(member.cost)
        if ticket < first {
            (first, next) = (ticket, first)
        } else {
            next = min(next, ticket)
        }
    }

    private mutating func findFirst() {
        while first <= last, members[first]?.isAside ?? true { first += 1 }
        next = max(next, first + 1)
        while next <= last, members[next]?.isAside ?? true { next += 1 }
    }
}
