/// A bucket that fills at a rate: GCRA, one instant of state (Brandur Leach, "Rate Limiting, Cells, and GCRA";
/// throttled/throttled `rate.go`).
///
/// During a ramp of length R its clock runs at the share s/R of the real one, s after the beginning: by then s²/2R has
/// passed, and the nth call at an interval of I comes no sooner than √(2·n·I·R).
struct TokenBucket: Sendable, Equatable {
    private struct Ramp: Equatable {
        let began: Int64
        let length: Int64

        /// What the bucket's clock says.
        func slowed(_ now: Int64) -> Int64 {
            let passed = Int128(now) - Int128(began)
            guard passed > 0 else { return now }
            let length = Int128(length)
            let slow = passed < length ? passed * passed / (2 * length) : passed - (length - length / 2)
            return Int64(clamping: Int128(began) + slow)
        }

        /// When the bucket's clock says this, at the earliest.
        func real(_ slowed: Int64) -> Int64 {
            let slow = Int128(slowed) - Int128(began)
            guard slow > 0 else { return slowed }
            let length = Int128(length)
            let passed = slow < length / 2 ? (2 * length * slow).squareRootRoundedUp : slow + (length - length / 2)
            return Int64(clamping: Int128(began) + passed)
        }

        func isOver(at now: Int64) -> Bool { Int128(now) - Int128(began) >= Int128(length) }
    }

    /// Nanoseconds a call.
    private(set) var interval: Int64
    private(set) var burst: Int
    /// The theoretical arrival time, on the bucket's clock: when it is full again, a burst later than now at most.
    private(set) var arrival = Int64.min
    /// Nanoseconds of burst.
    private var tolerance: Int64
    private var ramp: Ramp?

    init(_ rate: Rate, burst: Int) {
        let burst = Throttle.checks.atLeast(1, burst, "burst")
        // A burst of more than 146 years is out of reach all the same, and would make the readings saturate.
        interval = min(rate.interval, .max / 2 / Int64(burst))
        tolerance = interval * Int64(burst)
        self.burst = burst
    }

    private init() { (interval, tolerance, burst) = (0, 0, .max) }

    static let unlimited = TokenBucket()

    var isUnlimited: Bool { interval == 0 }

    /// Whether a call that has not waited may go now, and has taken its share. If not, nothing has changed. Never in a
    /// ramp: there it is to ask.
    @inline(__always)
    mutating func takeAtOnce(_ cost: Int, at now: Int64) -> Bool {
        let (next, turn, isAllowed) = share(of: cost, since: now)
        guard turn <= now, isAllowed, ramp == nil else { return false }
        arrival = next
        return true
    }

    /// When a call of this cost, asked for since `since`, may go. Taken if that is `now` or before.
    mutating func take(_ cost: Int, since: Int64, at now: Int64) -> Int64 {
        if ramp != nil { return takeInRamp(cost, since: since, at: now) }
        let (next, turn, _) = share(of: cost, since: since)
        if turn <= now { arrival = next }
        return turn
    }

    @inline(never) private mutating func takeInRamp(_ cost: Int, since: Int64, at now: Int64) -> Int64 {
        guard let ramp, !ramp.isOver(at: now) else {
            endRamp(at: now)
            return take(cost, since: since, at: now)
        }
        let (next, turn, _) = share(of: cost, since: ramp.slowed(since))
        if turn <= ramp.slowed(now) { arrival = next }
        return ramp.real(turn)
    }

    /// When a call of this cost may go after others of the cost `behind`, if the first of all asked at `since`.
    func turn(of cost: Int, behind: Int, since: Int64) -> Int64 {
        let ahead = interval.saturatingMultiplied(by: Int64(behind))
        guard let ramp else { return share(of: cost, since: since, ahead: ahead).turn }
        return ramp.real(share(of: cost, since: ramp.slowed(since), ahead: ahead).turn)
    }

    @inline(__always)
    private func share(
        of cost: Int, since: Int64, ahead: Int64 = 0
    ) -> (next: Int64, turn: Int64, isAllowed: Bool) {
        let share = interval.saturatingMultiplied(by: Int64(cost))
        let next = max(since, arrival).saturatingAdding(ahead).saturatingAdding(share)
        return (next, next.saturatingSubtracting(tolerance), share <= tolerance)
    }

    /// One call's share is left, whatever there was; from here the rate grows over `length`.
    mutating func empty(at now: Int64, rampingOver length: Int64) {
        endRamp(at: now)
        arrival = max(arrival, now.saturatingAdding(tolerance - interval))
        // Without a length it is over at once.
        ramp = Ramp(began: now, length: length)
    }

    private mutating func endRamp(at now: Int64) {
        guard let ramp else { return }
        // A slowed clock is behind by no more than the ramp's length.
        arrival = arrival.saturatingAdding(now - ramp.slowed(now))
        self.ramp = nil
    }

    /// The calls in the bucket stay, cut to the new burst; a larger burst fills at the new rate. What is owed to calls
    /// that wait moves with the interval.
    mutating func setRate(_ rate: Rate, burst: Int, at now: Int64) {
        let now = ramp?.slowed(now) ?? now
        let old = (interval: Int128(interval), burst: Int128(self.burst))
        let missing = max(0, Int128(arrival) - Int128(now))
        let new = TokenBucket(rate, burst: burst)
        (interval, tolerance, self.burst) = (new.interval, new.tolerance, burst)
        let scaled = (missing * Int128(interval) + old.interval - 1) / max(1, old.interval)
        let grown = Int128(interval) * (Int128(burst) - old.burst)
        arrival = Int64(clamping: Int128(now) + max(0, scaled + grown))
    }

    /// Full as of now: those who have waited get no more than the burst, however long ago they asked.
    mutating func reset(at now: Int64) { (arrival, ramp) = (now, nil) }

    /// Calls that could go now.
    func available(at now: Int64) -> Int {
        if isUnlimited { return .max }
        let missing = max(0, Int128(arrival) - Int128(ramp?.slowed(now) ?? now))
        return Int((Int128(tolerance) - missing) / Int128(interval))
    }

    /// Whether it is as it was at first.
    func isFull(at now: Int64) -> Bool { arrival <= ramp?.slowed(now) ?? now && ramp?.isOver(at: now) ?? true }
}

extension Int128 {
    /// The least number whose square is this or more. Newton's method, from above; of what is above zero.
    fileprivate var squareRootRoundedUp: Int128 {
        var root = Int128(1) << ((Int128.bitWidth - leadingZeroBitCount + 1) / 2)
        while true {
            let next = (root + self / root) / 2
            if next >= root { break }
            root = next
        }
        return root * root < self ? root + 1 : root
    }
}
