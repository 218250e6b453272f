/// The calls that wait for a throttle, in order of arrival. Joining and leaving, even from the middle, are amortised
/// O(1).
///
/// A call keeps its place until it goes. If it does not come at its turn, because its executor is busy, it is passed
/// over: until it comes, the next call is the head, and the absent call's cost delays no other call.
struct ThrottleLine: Sendable, Equatable {
    struct Member: Sendable, Equatable {
        let cost: Int
        /// The end of the call's wait for its turn; the call waits longer only to learn when that turn comes.
        let patientUntil: MonotonicInstant
        fileprivate(set) var isPassedOver = false
        /// nil if the call is awake.
        fileprivate(set) var sleepsUntil: MonotonicInstant?
    }

    private var line = TicketLine<Member>()
    /// The first ticket that is in line and not passed over. Tickets are numbered from 1, in the order of joining.
    private var first: UInt64 = 1
    /// The second ticket that is in line and not passed over.
    private var next: UInt64 = 2
    /// Wide enough for an exact sum, so that it returns to zero whatever the calls cost.
    private var total: Int128 = 0

    var count: Int { line.count }
    var isEmpty: Bool { line.isEmpty }
    /// The cost of all calls that are not passed over.
    var cost: Int { Int(clamping: total) }

    /// The first call that is not passed over; nil if there is none.
    var head: (ticket: UInt64, member: Member)? { line[first].map { (first, $0) } }

    /// The call behind the head.
    var second: (ticket: UInt64, member: Member)? { line[next].map { (next, $0) } }

    subscript(_ ticket: UInt64) -> Member? { line[ticket] }

    mutating func join(cost: Int, patientUntil: MonotonicInstant) -> UInt64 {
        total += Int128(cost)
        return line.join(Member(cost: cost, patientUntil: patientUntil))
    }

    /// - Returns: false if the call has already left.
    mutating func leave(_ ticket: UInt64) -> Bool {
        guard let member = line.leave(ticket) else { return false }
        if !member.isPassedOver { total -= Int128(member.cost) }
        findFirst()
        return true
    }

    mutating func passOver(_ ticket: UInt64) {
        guard let member = line[ticket], !member.isPassedOver else { return }
        line[ticket]?.isPassedOver = true
        total -= Int128(member.cost)
        findFirst()
    }

    /// A call that was passed over has come after all.
    mutating func comes(_ ticket: UInt64) {
        guard let member = line[ticket], member.isPassedOver else { return }
        line[ticket]?.isPassedOver = false
        total += Int128(member.cost)
        if ticket < first {
            (first, next) = (ticket, first)
        } else {
            next = min(next, ticket)
        }
    }

    mutating func sleep(_ ticket: UInt64, until instant: MonotonicInstant) { line[ticket]?.sleepsUntil = instant }

    mutating func wake(_ ticket: UInt64) { line[ticket]?.sleepsUntil = nil }

    private mutating func findFirst() {
        while first <= line.last, line[first]?.isPassedOver ?? true { first += 1 }
        next = max(next, first + 1)
        while next <= line.last, line[next]?.isPassedOver ?? true { next += 1 }
    }
}
