/// The instants of the last calls: no more than the limit within one period.
struct SlidingWindow: Sendable, Equatable {
    let limit: Int
    private let period: Int64
    /// A ring that grows up to the limit. `oldest` is the place of the oldest call.
    private var log: [Int64] = []
    private var oldest = 0
    private(set) var count = 0

    init(limit: Int, period: Int64) {
        self.limit = limit
        self.period = period
    }

    mutating func take(_ cost: Int, at now: Int64) -> Int64 {
        let turn = turn(of: cost, at: now)
        if turn <= now {
            forget(before: now)
            for _ in 0..<cost { append(now) }
        }
        return turn
    }

    /// Counts a call that went without asking. The log holds no more than the limit, so the oldest calls are dropped.
    mutating func count(_ cost: Int, at now: Int64) {
        for _ in 0..<cost {
            if count == limit { dropOldest() }
            append(now)
        }
    }

    /// When a call may go. For calls that wait and cost more than 1, this is the earliest possible time.
    func turn(of cost: Int, behind: Int = 0, at now: Int64) -> Int64 {
        let place = behind.saturatingAdding(cost)
        // Each call that goes makes room for another one a period later.
        let (rounds, index) = (place - 1).quotientAndRemainder(dividingBy: limit)
        let free = limit - count
        let first = index < free ? now : max(now, self[index - free].saturatingAdding(period))
        return first.saturatingAdding(period.saturatingMultiplied(by: Int64(rounds)))
    }

    /// The number of calls in the window. The instants are in order: expired ones come first.
    func inUse(at now: Int64) -> Int {
        var (low, high) = (0, count)
        while low < high {
            let middle = (low + high) / 2
            if self[middle].saturatingAdding(period) > now { high = middle } else { low = middle + 1 }
        }
        return count - low
    }

    /// Removes calls that went at this instant, searching only the latest 64 calls.
    mutating func giveBack(_ cost: Int, takenAt instant: Int64) {
        var index = count
        while index > 0, self[index - 1] > instant, count - index < Self.look { index -= 1 }
        guard index >= cost, self[index - cost] == instant else { return }
        for later in index..<count { self[later - cost] = self[later] }
        count -= cost
    }

    private static let look = 64

    var emptied: SlidingWindow { SlidingWindow(limit: limit, period: period) }

    private subscript(_ age: Int) -> Int64 {
        get { log[(oldest + age) % log.count] }
        set { log[(oldest + age) % log.count] = newValue }
    }

    private mutating func forget(before now: Int64) {
        let left = inUse(at: now)
        if left < count { oldest = (oldest + count - left) % log.count }
        count = left
    }

    private mutating func dropOldest() {
        oldest = (oldest + 1) % log.count
        count -= 1
    }

    private mutating func append(_ now: Int64) {
        if count == log.count {
            let inOrder = log[oldest...] + log[..<oldest]
            log = inOrder + Array(repeating: 0, count: min(limit - count, max(8, count)))
            oldest = 0
        }
        log[(oldest + count) % log.count] = now
        count += 1
    }
}

/// The number of calls in the present window.
struct FixedWindow: Sendable, Equatable {
    let limit: Int
    private let period: Int64
    private let anchor: Int64?
    /// When the present window began; nil before the first.
    private var start: Int64?
    private var used = 0

    init(limit: Int, period: Int64, anchor: Int64?) {
        self.limit = limit
        self.period = period
        self.anchor = anchor
    }

    mutating func take(_ cost: Int, at now: Int64) -> Int64 {
        let turn = turn(of: cost, at: now)
        if turn <= now { count(cost, at: now) }
        return turn
    }

    /// Counts a call, even without room.
    mutating func count(_ cost: Int, at now: Int64) {
        (start, used) = present(at: now)
        used = used.saturatingAdding(cost)
    }

    /// When a call may go. For calls that wait and cost more than 1, this is the earliest possible time.
    func turn(of cost: Int, behind: Int = 0, at now: Int64) -> Int64 {
        let (start, used) = present(at: now)
        let windows = (min(limit, used).saturatingAdding(behind).saturatingAdding(cost) - 1) / limit
        return max(now, start.saturatingAdding(period.saturatingMultiplied(by: Int64(windows))))
    }

    /// The number of calls in the window, at most the limit: a probe beyond the limit takes nothing from the next
    /// window.
    func inUse(at now: Int64) -> Int { min(limit, present(at: now).used) }

    func windowStart(at now: Int64) -> Int64 { present(at: now).start }

    mutating func giveBack(_ cost: Int, ofWindow start: Int64, at now: Int64) {
        guard present(at: now).start == start else { return }
        used = max(0, used - cost)
        // A window without an anchor begins with the first call that is not given back.
        if used == 0, anchor == nil { self.start = nil }
    }

    var emptied: FixedWindow { FixedWindow(limit: limit, period: period, anchor: anchor) }

    private func present(at now: Int64) -> (start: Int64, used: Int) {
        if let start, now < start.saturatingAdding(period) { return (start, used) }
        guard let anchor else { return (now, 0) }
        let since = (Int128(now) - Int128(anchor)).flooredDivision(by: Int128(period)).remainder
        return (Int64(clamping: Int128(now) - since), 0)
    }
}
