/// Counts the permits in use, and keeps the order of waiting calls.
///
/// Every input costs amortised O(1), plus a look at the line of each priority that has ever had a waiting call: at most
/// 256 lines, and only one line unless the order is by priority.
///
/// If the order is by priority, the lines take turns by stride scheduling (C. Waldspurger, W. Weihl, 1995): a line has
/// one turn per `stride`, and the nearest turn is next. So each line gets its share, however many calls the other lines
/// have. When the queue is full, the call whose turn would come last is rejected. Its line keeps that turn, which comes
/// nearer each time another line takes a turn. So in the end, a line whose calls are rejected gets a place in the
/// queue.
struct BulkheadStateMachine: Sendable {
    private(set) var limit: Int
    private(set) var queueLimit: Int
    let order: Bulkhead.Order
    /// At most one element. An array, since the element is large and few bulkheads have one.
    private let sheddings: [LoadShedding]
    var shedding: LoadShedding? { sheddings.first }
    /// Permits in use. May exceed the limit after a decrease. The ``Bulkhead`` sets it after it has handed out free
    /// permits without the machine.
    var inUse = 0
    /// At most one element; none until a call has found no free permit. An array, because it is copied like a value.
    private var changed: [Rare] = []

    private var rare: Rare {
        _read {
            if changed.isEmpty { yield Rare() } else { yield changed[0] }
        }
        _modify {
            if changed.isEmpty { changed = [Rare()] }
            yield &changed[0]
        }
    }

    /// The state that a bulkhead needs only after all permits have been in use.
    private struct Rare {
        var lines: [PriorityLine] = []
        var serviceTime: Int64?
        var turnover: Int64?
        var rejectsSince: Int64?
        var removed: [UInt64: BulkheadFull.Reason] = [:]
        var waitingSince: Int64?
        var isShedding = false
        /// When overload was last checked, in nanoseconds.
        var latest: Int64 = 0
        /// The removed tickets whose calls have not been woken yet.
        var shed: [UInt64] = []
    }

    /// A line for each priority, most important first.
    private(set) var lines: [PriorityLine] {
        _read { yield rare.lines }
        _modify { yield &rare.lines }
    }
    /// How long a call keeps its permit, in nanoseconds: a moving average over the calls that had to wait for a permit.
    ///
    /// nil until the first such call has ended. Reset as soon as a permit is free, since an old average says nothing
    /// about the next busy period.
    private(set) var serviceTime: Int64? {
        _read { yield rare.serviceTime }
        _modify { yield &rare.serviceTime }
    }
    /// The time until the next permit comes back while all are in use, in nanoseconds: a moving average. nil if it was
    /// never measured. The average stays when a permit is free, since it decides nothing: it only tells rejected calls
    /// when to come again.
    private(set) var turnover: Int64? {
        _read { yield rare.turnover }
        _modify { yield &rare.turnover }
    }
    /// The time of the first rejection since a permit last came back, in nanoseconds; nil if no call was rejected since
    /// then, or if the time is unknown.
    private(set) var rejectsSince: Int64? {
        _read { yield rare.rejectsSince }
        _modify { yield &rare.rejectsSince }
    }
    /// The tickets that have lost their place; their calls have not learned this yet.
    private(set) var removed: [UInt64: BulkheadFull.Reason] {
        _read { yield rare.removed }
        _modify { yield &rare.removed }
    }
    /// Since when the queue has not been empty, in nanoseconds; nil if no call waits.
    private(set) var waitingSince: Int64? {
        _read { yield rare.waitingSince }
        _modify { yield &rare.waitingSince }
    }
    /// Whether the bulkhead is overloaded: calls have waited without a break for the interval of the ``LoadShedding``,
    /// and the queue has not been empty since.
    private(set) var isShedding: Bool {
        _read { yield rare.isShedding }
        _modify { yield &rare.isShedding }
    }
    init(
        limit: Int, queueLimit: Int, order: Bulkhead.Order = .firstInFirstOut, shedding: LoadShedding? = nil
    ) {
        self.limit = limit
        self.queueLimit = queueLimit
        self.order = order
        sheddings = shedding.map { [$0] } ?? []
    }

    struct PriorityLine: Sendable {
        let priority: CallPriority
        /// The waiting calls, and since when each waits, in nanoseconds.
        var tickets: TicketLine<Int64>
        /// The distance between the line's turns.
        let stride: Int64
        /// The distance to the line's next turn.
        private(set) var turn: Int64
        /// Whether the line is empty because its last call was rejected, lost its place or gave up: the line's next
        /// call gets that turn.
        private(set) var keepsTurn = false

        /// A ticket's top byte is its priority, so that no two lines give out the same ticket.
        init(_ priority: CallPriority) {
            self.priority = priority
            tickets = TicketLine(after: UInt64(UInt8(bitPattern: priority.rawValue)) << 56)
            stride = (1 << 40) / Int64(priority.weight)
            turn = stride
        }

        static func priority(of ticket: UInt64) -> CallPriority {
            CallPriority(rawValue: Int8(truncatingIfNeeded: ticket >> 56))
        }

        private var nextTurn: Int64 { tickets.isEmpty && !keepsTurn ? stride : turn }

        /// The turn that the line's last call would have if this many calls waited in the line.
        func turn(ofLast calls: Int) -> Int64 {
            nextTurn.saturatingAdding(stride.saturatingMultiplied(by: Int64(calls - 1)))
        }

        /// The number of waiting calls whose turns come before another line's turn.
        /// - Parameter wins: Whether this line is first if two turns coincide.
        func turns(before other: Int64, wins: Bool) -> Int {
            let time = other.saturatingSubtracting(turn).saturatingAdding(wins ? 1 : 0)
            return time <= 0 ? 0 : Int(min(Int64(tickets.count), (time - 1) / stride + 1))
        }

        mutating func join(at now: Int64) -> UInt64 {
            turn = nextTurn
            keepsTurn = false
            return tickets.join(now)
        }

        /// A call of this line is rejected: it gets no place in the queue.
        mutating func reject() {
            guard tickets.isEmpty else { return }
            turn = nextTurn
            keepsTurn = true
        }

        /// A waiting call gives up: the line's next call takes its turn.
        mutating func leave(_ ticket: UInt64) -> Bool {
            guard tickets.leave(ticket) != nil else { return false }
            keepsTurn = tickets.isEmpty
            return true
        }

        mutating func remove(newest: Bool) -> UInt64? {
            defer { keepsTurn = tickets.isEmpty }
            return newest ? tickets.popLast() : tickets.popFirst()
        }

        mutating func forgetTurn() { keepsTurn = false }
        mutating func takeTurn() { turn = turn.saturatingAdding(stride) }
        mutating func comeNearer(by time: Int64) { turn = max(0, turn - time) }
    }

    var queued: Int { lines.reduce(0) { $0 + $1.tickets.count } }

    enum Answer: Equatable {
        case enter
        /// The call waits with this ticket. It has taken the place of the displaced ticket, if there is one.
        case queue(ticket: UInt64, displacing: UInt64? = nil)
        /// The queue is full, and the new call's turn would not come before the last turn in the queue.
        case reject
        /// The call would wait too long.
        case tooLate
    }

    /// A call asks for a permit.
    /// - Parameters:
    ///   - priority: The call's priority; used only if the order is by priority.
    ///   - patience: The longest time that the call can wait, in nanoseconds.
    ///   - mayDisplace: Whether the call may take the place of a waiting call.
    ///   - now: In nanoseconds; used only with a ``LoadShedding``.
    mutating func arrive(
        priority: CallPriority = .normal, patience: Int64 = .max, mayDisplace: Bool = true, at now: Int64 = 0
    ) -> Answer {
        // While calls wait, all permits are in use: a freed permit goes to a waiting call, never to a new one.
        if inUse < limit {
            inUse += 1
            return .enter
        }
        if hasNoRoomToWait {
            if mayDisplace { lines[index(of: priority)].reject() }
            return .reject
        }
        lookForOverload(at: now)
        shedExcess()
        let line = index(of: priority)
        let isFull = queued >= queueLimit
        let loser = isFull ? lastTurn(with: line) : nil
        if isFull {
            guard mayDisplace, let loser, loser != line || isNewestFirst && !lines[line].tickets.isEmpty else {
                if mayDisplace { lines[line].reject() }
                return .reject
            }
        }
        // The next permit may come at any moment, so only the calls ahead are certain to take time.
        guard patience > 0, wait(behind: ahead(ofNewcomerIn: line)) ?? 0 <= patience else {
            if mayDisplace { lines[line].reject() }
            return .tooLate
        }
        let displaced = loser.flatMap { removeLast(of: $0, because: .displaced) }
        if waitingSince == nil { waitingSince = now }
        return .queue(ticket: lines[line].join(at: now), displacing: displaced)
    }

    /// Whether every call that finds no permit is rejected: no call may wait, and none still waits.
    private var hasNoRoomToWait: Bool { queueLimit <= 0 && waitingSince == nil && shedding == nil }

    /// A permit comes back.
    /// - Parameters:
    ///   - serviceTime: How long the permit was in use, in nanoseconds, if that was measured.
    ///   - instant: When the permit comes back, in nanoseconds; nil if waits are not predicted.
    ///   - now: In nanoseconds; used only with a ``LoadShedding``.
    /// - Returns: The ticket of the waiting call that gets the permit, and is inside from now on; nil if no call waits,
    ///   or if more calls are inside than the limit allows.
    mutating func leave(after serviceTime: Int64? = nil, measuredAt instant: Int64? = nil, at now: Int64 = 0) -> UInt64?
    {
        if let serviceTime { self.serviceTime = Self.average(self.serviceTime, serviceTime) }
        if let instant, let rejectsSince {
            turnover = Self.turnover(after: turnover, max(0, instant.saturatingSubtracting(rejectsSince)))
        }
        if rejectsSince != nil { rejectsSince = nil }
        lookForOverload(at: now)
        let next = inUse <= limit ? popFirst() : nil
        if next == nil { inUse -= 1 }
        forgetIfFree()
        shedExcess()
        return next
    }

    /// The newest sample has weight 1/8, as TCP smooths its round-trip times: RFC 6298, 2.3. But a call that hung for
    /// an hour says little about the next call: a sample counts as at most 16 times the average, or 16 times 1 s if it
    /// is the first.
    private static func average(_ old: Int64?, _ sample: Int64) -> Int64 {
        let most = max(old ?? ProbeWait.longest.saturatedNanoseconds, 1_000_000).saturatingMultiplied(by: 16)
        let sample = min(max(0, sample), most)
        return old.map { $0 + (sample - $0) / 8 } ?? sample
    }

    /// The moving average. A sample below 1/16 of the average replaces it.
    private static func turnover(after old: Int64?, _ sample: Int64) -> Int64 {
        average(old.flatMap { sample < $0 / 16 ? nil : $0 }, sample)
    }

    /// A call was rejected at this instant, in nanoseconds. Only the first rejection since a permit came back is noted.
    mutating func rejects(at instant: Int64) {
        if rejectsSince == nil, inUse >= limit { rejectsSince = instant }
    }

    /// A waiting call leaves the queue.
    /// - Returns: false if the call no longer waits, because it got a permit or lost its place.
    mutating func leaveQueue(_ ticket: UInt64) -> Bool {
        guard let index = lines.firstIndex(where: { $0.priority == PriorityLine.priority(of: ticket) }) else {
            return false
        }
        defer { endIfEmpty() }
        return lines[index].leave(ticket)
    }

    /// A call that no longer waits asks why.
    /// - Returns: Why it lost its place, reported once; nil if it got a permit.
    mutating func learnsOfRemoval(_ ticket: UInt64) -> BulkheadFull.Reason? { removed.removeValue(forKey: ticket) }

    /// Returns the tickets that have lost their place because of an overload, each once.
    mutating func takeShed() -> [UInt64] {
        guard !rare.shed.isEmpty else { return [] }
        defer { rare.shed = [] }
        return rare.shed
    }

    /// Sets the number of permits.
    /// - Returns: The tickets of the waiting calls that get the new permits.
    mutating func setLimit(_ limit: Int) -> [UInt64] {
        self.limit = limit
        var next: [UInt64] = []
        while inUse < limit, let ticket = popFirst() {
            inUse += 1
            next.append(ticket)
        }
        forgetIfFree()
        return next
    }

    /// Sets how many calls may wait. Waiting calls keep their places, even if their number exceeds the new limit.
    mutating func setQueueLimit(_ queueLimit: Int) {
        self.queueLimit = queueLimit
    }

    /// The wait of one more call at the end of the queue, in nanoseconds; nil without a measured service time.
    var estimatedWait: Int64? { wait(behind: queued + 1) }

    /// How long a rejected call should wait, in nanoseconds: until one more call at the end of the queue would get a
    /// permit. Without a service time, the wait is estimated from how often permits come back; in a steady state both
    /// estimates are the same (Little's law). nil if nothing was measured yet.
    var retryEstimate: Int64? { estimatedWait ?? turnover.map { $0.saturatingMultiplied(by: Int64(queued + 1)) } }

    /// How long a new call of this priority would wait for its turn, in nanoseconds; nil without a measured service
    /// time.
    mutating func estimatedWait(of priority: CallPriority) -> Int64? {
        // This comes before the other lines are examined, because it may add a line.
        let line = index(of: priority)
        return wait(behind: ahead(ofNewcomerIn: line) + 1)
    }

    /// With `limit` permits in use for one service time each, a permit comes back every service time ÷ limit: Little's
    /// law.
    private func wait(behind places: Int) -> Int64? {
        serviceTime.map { $0.saturatingMultiplied(by: Int64(places)) / Int64(max(1, limit)) }
    }

    private var isNewestFirst: Bool { order == .lastInFirstOut || isShedding }

    private func ahead(ofNewcomerIn line: Int) -> Int {
        let own = isNewestFirst ? 0 : lines[line].tickets.count
        let turn = lines[line].turn(ofLast: own + 1)
        return lines.indices.reduce(own) { ahead, other in
            other == line ? ahead : ahead + lines[other].turns(before: turn, wins: other < line)
        }
    }

    /// The index of a priority's line; makes the line if there is none. Unless the order is by priority, all priorities
    /// share one line.
    private mutating func index(of priority: CallPriority) -> Int {
        let priority = order == .byPriority ? priority : .normal
        let index = lines.firstIndex { $0.priority <= priority } ?? lines.count
        if index == lines.count || lines[index].priority != priority {
            lines.insert(PriorityLine(priority), at: index)
        }
        return index
    }

    /// Removes the call whose turn is next.
    private mutating func popFirst() -> UInt64? {
        var next: Int?
        for index in lines.indices where !lines[index].tickets.isEmpty {
            if next.map({ lines[index].turn < lines[$0].turn }) ?? true { next = index }
        }
        guard let next else { return nil }
        let time = lines[next].turn
        lines[next].takeTurn()
        for index in lines.indices { lines[index].comeNearer(by: time) }
        defer { endIfEmpty() }
        return isNewestFirst && !hasStayed(next) ? lines[next].tickets.popLast() : lines[next].tickets.popFirst()
    }

    /// Whether the oldest call of a line has waited long enough under overload to be next: otherwise newer calls could
    /// keep it waiting for ever.
    private mutating func hasStayed(_ line: Int) -> Bool {
        guard isShedding, order != .lastInFirstOut, let shedding, let oldest = lines[line].tickets.oldest() else {
            return false
        }
        let time = shedding.interval.saturatedNanoseconds.saturatingMultiplied(by: 2)
        return rare.latest.saturatingSubtracting(oldest) >= time
    }

    /// The line whose last turn comes last, among the lines with waiting calls and the newcomer's line.
    private func lastTurn(with line: Int) -> Int {
        guard lines.count > 1 else { return line }
        var (last, turn) = (line, lines[line].turn(ofLast: lines[line].tickets.count + 1))
        for index in lines.indices where index != line && !lines[index].tickets.isEmpty {
            let other = lines[index].turn(ofLast: lines[index].tickets.count)
            // If two turns coincide, the less important line's turn is later.
            if other > turn || other == turn && index > last { (last, turn) = (index, other) }
        }
        return last
    }

    /// Removes the line's call whose turn would come last.
    private mutating func removeLast(of line: Int, because reason: BulkheadFull.Reason) -> UInt64? {
        guard let ticket = lines[line].remove(newest: !isNewestFirst) else { return nil }
        removed[ticket] = reason
        return ticket
    }

    private mutating func lookForOverload(at now: Int64) {
        guard let shedding else { return }
        rare.latest = max(rare.latest, now)
        // Times may arrive out of order. Only an empty queue ends an overload.
        guard !isShedding, let waitingSince else { return }
        isShedding = now.saturatingSubtracting(waitingSince) >= shedding.interval.saturatedNanoseconds
    }

    private mutating func shedExcess() {
        guard let shedding, isShedding else { return }
        let inTime = rare.latest.saturatingSubtracting(shedding.target.saturatedNanoseconds)
        var excess = queued - limit
        while excess > 0, let line = lastTurn(ofThoseBefore: inTime) {
            if let ticket = removeLast(of: line, because: .shed) { rare.shed.append(ticket) }
            excess -= 1
        }
    }

    /// Of the lines with a call that arrived before this instant, the one whose last call has the latest turn.
    private mutating func lastTurn(ofThoseBefore latest: Int64) -> Int? {
        var last: (line: Int, turn: Int64)?
        for index in lines.indices {
            guard let oldest = lines[index].tickets.oldest(), oldest < latest else { continue }
            let turn = lines[index].turn(ofLast: lines[index].tickets.count)
            if last.map({ turn >= $0.turn }) ?? true { last = (index, turn) }
        }
        return last?.line
    }

    private mutating func endIfEmpty() {
        guard waitingSince != nil, queued == 0 else { return }
        (waitingSince, isShedding) = (nil, false)
    }

    /// Old measurements say nothing about the next busy period.
    private mutating func forgetIfFree() {
        guard inUse < limit, !changed.isEmpty else { return }
        serviceTime = nil
        for index in lines.indices { lines[index].forgetTurn() }
    }
}
