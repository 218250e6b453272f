/// Counts the permits in use, and keeps the order of waiting calls.
///
/// Every input is amortised O(1), plus a look at the line of each priority that has ever waited: at most 256 lines, and
/// only one unless the order is by priority.
struct BulkheadStateMachine: Sendable {
    private(set) var limit: Int
    private(set) var queueLimit: Int
    let order: Bulkhead.Order
    /// Permits in use. May exceed the limit after that was lowered. The shell sets it when it has handed out free
    /// permits itself.
    var inUse = 0
    /// A line for each priority, most important first.
    private(set) var lines: [PriorityLine] = []
    /// How long a call keeps its permit, in nanoseconds: a moving average over the calls that had to wait for theirs.
    ///
    /// nil until the first such call has ended. Reset as soon as a permit is free, since an old average says nothing
    /// about the next busy period.
    private(set) var serviceTime: Int64?
    /// Tickets that have lost their place, and whose calls have not learned it yet.
    private(set) var displaced: Set<UInt64> = []

    init(limit: Int, queueLimit: Int, order: Bulkhead.Order = .firstInFirstOut) {
        self.limit = limit
        self.queueLimit = queueLimit
        self.order = order
    }

    struct PriorityLine: Sendable {
        let priority: CallPriority
        var tickets: TicketLine<Void>

        /// A ticket's top byte is its priority, so that no two lines give out the same ticket.
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
        /// The call waits with this ticket. It has taken the place of the displaced ticket, if there is one.
        case queue(ticket: UInt64, displacing: UInt64? = nil)
        /// The queue is full, and the new call's turn would not come before that of the last in it.
        case reject
        /// The call would wait in vain.
        case tooLate
    }

    /// A call asks for a permit.
    /// - Parameters:
    ///   - priority: Its priority; it matters only if the order is by priority.
    ///   - patience: The longest time that it can wait, in nanoseconds.
    ///   - mayDisplace: Whether it may take the place of a waiting call.
    mutating func arrive(
        priority: CallPriority = .normal, patience: Int64 = .max, mayDisplace: Bool = true
    ) -> Answer {
        // While calls wait, all permits are in use: a freed permit goes to a waiting call, never to a new one.
        if inUse < limit {
            inUse += 1
            return .enter
        }
        let priority = order == .byPriority ? priority : .normal
        let isFull = queued >= queueLimit
        if isFull {
            guard mayDisplace, comesBeforeLast(priority) else { return .reject }
        }
        // The next permit may come at any moment: only the calls ahead are sure to take time.
        guard patience > 0, wait(behind: ahead(of: priority)) ?? 0 <= patience else { return .tooLate }
        let loser = isFull ? popLast() : nil
        if let loser { displaced.insert(loser) }
        return .queue(ticket: join(priority), displacing: loser)
    }

    /// A permit comes back.
    /// - Parameter serviceTime: How long it was in use, in nanoseconds, if that was measured.
    /// - Returns: The ticket of the waiting call that gets the permit, and is inside from now on; nil if no call waits,
    ///   or if more calls are inside than the limit allows.
    mutating func leave(after serviceTime: Int64? = nil) -> UInt64? {
        if let serviceTime {
            let sample = max(0, serviceTime)
            // The newest sample has weight 1/8, as TCP smooths its round-trip times: RFC 6298, 2.3.
            self.serviceTime = self.serviceTime.map { $0 + (sample - $0) / 8 } ?? sample
        }
        if inUse <= limit, let next = popFirst() { return next }
        inUse -= 1
        if inUse < limit { self.serviceTime = nil }
        return nil
    }

    /// A waiting call leaves the queue.
    /// - Returns: false if it does not wait any more, because it got a permit or was displaced.
    mutating func leaveQueue(_ ticket: UInt64) -> Bool {
        guard let index = lines.firstIndex(where: { $0.priority == PriorityLine.priority(of: ticket) }) else {
            return false
        }
        return lines[index].tickets.leave(ticket) != nil
    }

    /// A call that does not wait any more asks why.
    /// - Returns: true, once, if it was displaced; false if it got a permit.
    mutating func learnsOfDisplacement(_ ticket: UInt64) -> Bool { displaced.remove(ticket) != nil }

    /// Sets how many permits there are.
    /// - Returns: The tickets of the waiting calls that get the new permits.
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

    /// Sets how many calls may wait. Waiting calls keep their places, even if there are more of them than that.
    mutating func setQueueLimit(_ queueLimit: Int) {
        self.queueLimit = queueLimit
    }

    /// How long one more call at the end of the queue would wait, in nanoseconds; nil without a measured service time.
    var estimatedWait: Int64? { wait(behind: queued + 1) }

    /// With `limit` permits in use for one service time each, a permit comes back every service time ÷ limit: Little's
    /// law.
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

    /// Removes the call whose turn is next.
    private mutating func popFirst() -> UInt64? {
        for index in lines.indices {
            let ticket = order == .lastInFirstOut ? lines[index].tickets.popLast() : lines[index].tickets.popFirst()
            if let ticket { return ticket }
        }
        return nil
    }

    /// Removes the call whose turn would come last.
    private mutating func popLast() -> UInt64? {
        for index in lines.indices.reversed() {
            let ticket = order == .lastInFirstOut ? lines[index].tickets.popFirst() : lines[index].tickets.popLast()
            if let ticket { return ticket }
        }
        return nil
    }
}
