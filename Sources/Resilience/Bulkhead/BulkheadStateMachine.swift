/// Counts the permits in use and keeps the order of those who wait. Every input is O(1), amortised, beside a look at
/// the line of each priority that ever waited: at most 256, and one unless the order is by priority.
struct BulkheadStateMachine: Sendable {
    private(set) var limit: Int
    private(set) var queueLimit: Int
    let order: Bulkhead.Order
    /// Above the limit after the limit was lowered. The shell sets it when it has handed out free permits itself.
    var inUse = 0
    /// A line for each priority, most important first.
    private(set) var lines: [PriorityLine] = []
    /// How long a permit is held, in nanoseconds: a moving average over those who had to wait for theirs. nil before
    /// the first of them is back, and forgotten as soon as a permit lies free: what comes then is another time.
    private(set) var serviceTime: Int64?
    /// Tickets that lost their place and don't know it yet.
    private(set) var displaced: Set<UInt64> = []

    init(limit: Int, queueLimit: Int, order: Bulkhead.Order = .firstInFirstOut) {
        self.limit = limit
        self.queueLimit = queueLimit
        self.order = order
    }

    struct PriorityLine: Sendable {
        let priority: CallPriority
        var tickets: TicketLine<Void>

        /// The priority is in a ticket's top byte, so that no two lines give out the same.
        init(_ priority: CallPriority) {
            self.priority = priority
            tickets = TicketLine(after: UInt64(UInt8(bitPattern: priority.rawValue)) << 56)
        }

        static func priority(of ticket: UInt64) -> CallPriority {
            CallPriority(rawValue: Int8(truncatingIfNeeded: ticket >> 56))
        }
    }

    var queued: Int { lines.reduce(0) { $0 + $1.tickets.count } }

    enum Answer: Equatable {
        case enter
        /// The other ticket, if there is one, has lost its place to this one.
        case queue(ticket: UInt64, displacing: UInt64? = nil)
        /// The queue is full, and nobody in it comes after this call.
        case refuse
        /// It would wait in vain.
        case tooLate
    }

    /// - Parameters:
    ///   - patience: the longest that it can wait, in nanoseconds.
    ///   - mayDisplace: whether it may take the place of another.
    mutating func arrive(
        priority: CallPriority = .normal, patience: Int64 = .max, mayDisplace: Bool = true
    ) -> Answer {
        // While somebody waits, all permits are in use: a freed one is handed over, never left lying for a newcomer.
        if inUse < limit {
            inUse += 1
            return .enter
        }
        let priority = order == .byPriority ? priority : .normal
        let isFull = queued >= queueLimit
        if isFull {
            guard mayDisplace, comesBeforeLast(priority) else { return .refuse }
        }
        // The next permit may come at any moment: only those ahead are sure to take time.
        guard patience > 0, wait(behind: ahead(of: priority)) ?? 0 <= patience else { return .tooLate }
        let loser = isFull ? popLast() : nil
        if let loser { displaced.insert(loser) }
        return .queue(ticket: join(priority), displacing: loser)
    }

    /// A permit comes back.
    /// - Parameter serviceTime: how long it was held, in nanoseconds, if that was measured.
    /// - Returns: the ticket that it is handed to, which is inside from now on; nil if nobody waits, or if more are
    ///   inside than the limit.
    mutating func leave(after serviceTime: Int64? = nil) -> UInt64? {
        if let serviceTime {
            let sample = max(0, serviceTime)
            // One eighth of the news, as TCP smooths its round trips: RFC 6298, 2.3.
            self.serviceTime = self.serviceTime.map { $0 + (sample - $0) / 8 } ?? sample
        }
        if inUse <= limit, let next = popFirst() { return next }
        inUse -= 1
        if inUse < limit { self.serviceTime = nil }
        return nil
    }

    /// A waiting call gives up.
    /// - Returns: false if it no longer waits, having been handed a permit or displaced.
    mutating func leaveQueue(_ ticket: UInt64) -> Bool {
        guard let index = lines.firstIndex(where: { $0.priority == PriorityLine.priority(of: ticket) }) else {
            return false
        }
        return lines[index].tickets.leave(ticket) != nil
    }

    /// A call that no longer waits learns why.
    /// - Returns: true, once, if it lost its place; false if it was handed a permit.
    mutating func learnsOfDisplacement(_ ticket: UInt64) -> Bool { displaced.remove(ticket) != nil }

    /// - Returns: the tickets that are handed the new permits.
    mutating func setLimit(_ limit: Int) -> [UInt64] {
        self.limit = limit
        var next: [UInt64] = []
        while inUse < limit, let ticket = popFirst() {
            inUse += 1
            next.append(ticket)
        }
        if inUse < limit { serviceTime = nil }
        return next
    }

    /// Those who wait keep their places, even if there are more of them now.
    mutating func setQueueLimit(_ queueLimit: Int) {
        self.queueLimit = queueLimit
    }

    /// What one more at the end of the queue would have to wait, in nanoseconds; nil if that can't be told.
    var estimatedWait: Int64? { wait(behind: queued + 1) }

    /// With `limit` permits, each held for the service time, one comes back every service time ÷ limit: Little's law.
    private func wait(behind places: Int) -> Int64? {
        serviceTime.map { $0.saturatingMultiplied(by: Int64(places)) / Int64(limit) }
    }

    private func ahead(of priority: CallPriority) -> Int {
        if order == .lastInFirstOut { return 0 }
        return lines.reduce(0) { $1.priority >= priority ? $0 + $1.tickets.count : $0 }
    }

    private func comesBeforeLast(_ priority: CallPriority) -> Bool {
        guard let last = lines.last(where: { !$0.tickets.isEmpty }) else { return false }
        return order == .lastInFirstOut || last.priority < priority
    }

    private mutating func join(_ priority: CallPriority) -> UInt64 {
        let index = lines.firstIndex { $0.priority <= priority } ?? lines.count
        if index == lines.count || lines[index].priority != priority {
            lines.insert(PriorityLine(priority), at: index)
        }
        return lines[index].tickets.join()
    }

    /// Whose turn is next.
    private mutating func popFirst() -> UInt64? {
        for index in lines.indices {
            let ticket = order == .lastInFirstOut ? lines[index].tickets.popLast() : lines[index].tickets.popFirst()
            if let ticket { return ticket }
        }
        return nil
    }

    /// Whose turn comes after everybody else's.
    private mutating func popLast() -> UInt64? {
        for index in lines.indices.reversed() {
            let ticket = order == .lastInFirstOut ? lines[index].tickets.popFirst() : lines[index].tickets.popLast()
            if let ticket { return ticket }
        }
        return nil
    }
}
