/// Counts the permits in use and keeps the order of those who wait. Every input is O(1), amortised.
struct BulkheadStateMachine: Sendable {
    let limit: Int
    let queueLimit: Int
    private(set) var inUse = 0
    private(set) var line = TicketLine()

    init(limit: Int, queueLimit: Int) {
        precondition(limit >= 1, "Bulkhead: limit is \(limit), and must be at least 1")
        precondition(queueLimit >= 0, "Bulkhead: queue is \(queueLimit), and must not be negative")
        self.limit = limit
        self.queueLimit = queueLimit
    }

    var queued: Int { line.count }

    enum Answer: Equatable {
        case enter
        case queue(ticket: UInt64)
        case refuse
    }

    mutating func arrive() -> Answer {
        // While somebody waits, all permits are in use: a freed one is handed over, never left lying for a newcomer.
        if inUse < limit {
            inUse += 1
            return .enter
        }
        return line.count < queueLimit ? .queue(ticket: line.join()) : .refuse
    }

    /// A permit comes back.
    /// - Returns: the ticket that it is handed to, which is inside from now on; nil if nobody waits.
    mutating func leave() -> UInt64? {
        if let next = line.popFirst() { return next }
        inUse -= 1
        return nil
    }

    /// A waiting call gives up.
    /// - Returns: false if it no longer waits, having been handed a permit.
    mutating func leaveQueue(_ ticket: UInt64) -> Bool { line.leave(ticket) }
}

/// A waiting line of tickets, first come first served, that anybody may leave from the middle.
struct TicketLine: Sendable {
    private(set) var waiting: Set<UInt64> = []
    /// In order of joining; those no longer in `waiting` have left. Compacted when half of it has.
    private(set) var order: [UInt64] = []
    private(set) var first = 0
    private var last: UInt64 = 0

    var count: Int { waiting.count }

    mutating func join() -> UInt64 {
        last += 1
        waiting.insert(last)
        order.append(last)
        return last
    }

    mutating func popFirst() -> UInt64? {
        while first < order.count {
            let ticket = order[first]
            first += 1
            if waiting.remove(ticket) != nil {
                compact()
                return ticket
            }
        }
        return nil
    }

    mutating func leave(_ ticket: UInt64) -> Bool {
        guard waiting.remove(ticket) != nil else { return false }
        compact()
        return true
    }

    private mutating func compact() {
        guard order.count > 32, order.count > 2 * waiting.count else { return }
        order = order[first...].filter(waiting.contains)
        first = 0
    }
}
