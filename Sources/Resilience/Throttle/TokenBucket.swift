/// A bucket that fills at a rate: GCRA, one instant of state (Brandur Leach, "Rate Limiting, Cells, and GCRA";
/// throttled/throttled `rate.go`).
///
/// A call takes its share when it goes, however long it has waited. So in any stretch of time t, at most
/// `burst + rate · t` calls go, even if some wake late.
///
/// The unit is a tick: a fraction of a nanosecond, so small that one call costs a whole number of ticks. This makes a
/// rate of three per second exact. If a burst takes centuries to fill, the bucket's clock advances in steps of more
/// than a nanosecond.
///
/// During a ramp of length R, at the time s after its beginning, the bucket's clock runs at s/R of the real speed. By
/// then s²/2R has passed on the bucket's clock, and the nth call at an interval of I comes no sooner than √(2·n·I·R).
struct TokenBucket: Sendable, Equatable {
    private struct Ramp: Equatable {
        let began: Int64
        let length: Int64

        /// The time on the bucket's clock.
        func slowed(_ now: Int64) -> Int64 {
            let passed = Int128(now) - Int128(began)
            guard passed > 0 else { return now }
            let length = Int128(length)
            let slow = passed < length ? passed * passed / (2 * length) : passed - (length - length / 2)
            return Int64(clamping: Int128(began) + slow)
        }

        /// The earliest real time at which the bucket's clock shows this.
        func real(_ slowed: Int64) -> Int64 {
            let slow = Int128(slowed) - Int128(began)
            guard slow > 0 else { return slowed }
            let length = Int128(length)
            let passed = slow < length / 2 ? (2 * length * slow).squareRootRoundedUp : slow + (length - length / 2)
            return Int64(clamping: Int128(began) + passed)
        }

        func isOver(at now: Int64) -> Bool { Int128(now) - Int128(began) >= Int128(length) }
    }

    /// Steps of the bucket's clock, and a fraction of one: fewer than ``resolution`` ticks.
    private struct Ticks: Equatable {
        var steps: Int64
        var rest: UInt64 = 0

        func precedes(_ other: Ticks) -> Bool {
            steps == other.steps ? rest < other.rest : steps < other.steps
        }
    }

    /// The length of a step of the bucket's clock: 2 to the power of this, in nanoseconds.
    private var step = 0
    /// The number of ticks in a step.
    private var resolution: UInt64 = 1
    /// The share of one call of cost 1.
    private var interval = Ticks(steps: 0)
    private(set) var burst = Int.max
    /// The theoretical arrival time, on the bucket's clock: the instant at which the bucket will be full again, at most
    /// a burst later than now.
    private var arrival = Ticks(steps: .min)
    /// The share of a burst.
    private var tolerance = Ticks(steps: 0)
    /// When a share was last taken, on the bucket's clock.
    private var lastTaken = Int64.min
    /// The amount given back. With `arrival`, this gives the amount taken.
    private var returned = Ticks(steps: 0)
    /// Counts the changes of `arrival` that took no share: shares taken before such a change can't be given back.
    private var generation: UInt32 = 0
    private var ramp: Ramp?

    /// A rate that needs more than 2³¹ ticks per nanosecond is rounded to a slower one.
    private static let finest: Int128 = 1 << 31
    /// If a burst took more steps than this to fill, readings would saturate.
    private static let longest = Int128(Int64.max / 2)

    init(_ rate: ThrottleRate, burst: Int) {
        let (period, calls) = (Int128(rate.period.saturatedNanoseconds), Int128(rate.calls))
        let divisor = Self.greatestCommonDivisor(period, calls)
        let filling = (period + calls - 1) / calls * Int128(burst)
        while filling >> step > Self.longest { step += 1 }
        let resolution = step == 0 ? min(calls / divisor, Self.finest) : Self.finest
        let interval = (period * resolution + (calls << step) - 1) / (calls << step)
        self.resolution = UInt64(resolution)
        self.burst = burst
        self.interval = part(interval)
        tolerance = part(interval * Int128(burst))
    }

    private init() {}

    static let unlimited = TokenBucket()

    var isUnlimited: Bool { burst == .max && tolerance.steps == 0 }

    private static func greatestCommonDivisor(_ a: Int128, _ b: Int128) -> Int128 {
        var (a, b) = (a, b)
        while b != 0 { (a, b) = (b, a % b) }
        return a
    }

    // MARK: Ticks

    private func whole(_ ticks: Ticks) -> Int128 { Int128(ticks.steps) * Int128(resolution) + Int128(ticks.rest) }

    private func part(_ ticks: Int128) -> Ticks {
        let (steps, rest) = ticks.flooredDivision(by: Int128(resolution))
        return Ticks(steps: Int64(clamping: steps), rest: UInt64(rest))
    }

    @inline(__always)
    private func sum(_ a: Ticks, _ b: Ticks) -> Ticks {
        let rest = a.rest &+ b.rest
        let steps = a.steps.saturatingAdding(b.steps)
        return rest < resolution
            ? Ticks(steps: steps, rest: rest)
            : Ticks(steps: steps.saturatingAdding(1), rest: rest &- resolution)
    }

    /// The share of a call of this cost.
    @inline(__always)
    private func share(of cost: Int) -> Ticks {
        if cost == 1 { return interval }
        let steps = interval.steps.saturatingMultiplied(by: Int64(cost))
        if interval.rest == 0 { return Ticks(steps: steps) }
        let rest = resolution.dividingFullWidth(interval.rest.multipliedFullWidth(by: UInt64(cost)))
        return Ticks(steps: steps.saturatingAdding(Int64(clamping: rest.quotient)), rest: rest.remainder)
    }

    /// The first step of the clock at which a share that lasts until `end` is within the burst.
    private func turn(_ end: Ticks) -> Int64 {
        end.steps.saturatingSubtracting(tolerance.steps - (end.rest > tolerance.rest ? 1 : 0))
    }

    /// The bucket's clock, in steps.
    private func clock(_ now: Int64) -> Int64 { (ramp?.slowed(now) ?? now) >> step }

    /// The earliest real time at which the bucket's clock shows this step.
    private func real(_ steps: Int64) -> Int64 {
        let end = steps.saturatingMultiplied(by: 1 << step)
        return ramp?.real(end) ?? end
    }

    /// The later of `arrival` and now.
    @inline(__always)
    private func start(_ now: Int64) -> Ticks {
        arrival.steps < now ? Ticks(steps: now) : arrival
    }

    // MARK: Taking

    /// Takes the share of a call that has not waited, if it may go now. If not, nothing has changed. During a ramp it
    /// always returns false; use ``take(_:at:)``.
    @inline(__always)
    mutating func takeAtOnce(_ cost: Int, at now: Int64) -> Bool {
        let (share, clock) = (share(of: cost), now >> step)
        let next = sum(start(clock), share)
        guard turn(next) <= clock, ramp == nil else { return false }
        (arrival, lastTaken) = (next, clock)
        return true
    }

    /// When a call of this cost may go. If that is `now` or before, its share is taken.
    mutating func take(_ cost: Int, at now: Int64) -> Int64 {
        if let ramp, ramp.isOver(at: now) { endRamp(at: now) }
        let clock = clock(now)
        let next = sum(start(clock), share(of: cost))
        let turn = turn(next)
        if turn <= clock { (arrival, lastTaken) = (next, clock) }
        return real(turn)
    }

    /// When a call of this cost may go after other calls that cost `behind`.
    func turn(of cost: Int, behind: Int, at now: Int64) -> Int64 {
        let ahead = sum(start(clock(now)), share(of: behind))
        return real(turn(sum(ahead, share(of: cost))))
    }

    // MARK: Giving back

    /// The amount taken in this generation. Right after a call has taken its share, this is the call's receipt.
    var taken: ShareReceipt {
        // Wraps around on overflow.
        let taken = sum(Ticks(steps: 0, rest: arrival.rest), Ticks(steps: 0, rest: returned.rest))
        let steps = arrival.steps &+ returned.steps &+ taken.steps
        return ShareReceipt(
            first: UInt64(bitPattern: steps), second: UInt64(generation) << 32 | taken.rest)
    }

    /// Gives back the share of a call that never reached the other side, but never admits more calls than the bucket
    /// would have admitted without that call.
    ///
    /// Without the call, `arrival` would be lower by its share. But each later call has moved `arrival` at least to the
    /// call's own time plus its share, so `arrival` can't be lower than that. The calls' times are unknown, but not
    /// later than `lastTaken`.
    mutating func giveBack(_ cost: Int, _ receipt: ShareReceipt) {
        let present = taken
        guard receipt.second >> 32 == present.second >> 32 else { return }
        let since =
            Int128(present.first &- receipt.first) * Int128(resolution) + Int128(present.second & 0xFFFF_FFFF)
            - Int128(receipt.second & 0xFFFF_FFFF)
        let arrival = whole(self.arrival)
        let least = max(arrival - whole(share(of: cost)), whole(Ticks(steps: lastTaken)) + since)
        guard least < arrival else { return }
        // If no call came after this one, no receipt depends on the amount given back.
        if since > 0 { returned = part(whole(returned) + arrival - least) }
        self.arrival = part(least)
    }

    // MARK: Moving

    /// Empties the bucket, down to the share of one call. From now on, the rate grows over `length`.
    mutating func empty(at now: Int64, rampingOver length: Int64) {
        endRamp(at: now)
        let one = part(whole(Ticks(steps: now >> step)) + whole(tolerance) - whole(interval))
        move(to: arrival.precedes(one) ? one : arrival)
        // With a length of zero, the ramp is over at once.
        ramp = Ramp(began: now, length: length)
    }

    private mutating func endRamp(at now: Int64) {
        guard let ramp else { return }
        // A slowed clock is behind by at most the length of the ramp.
        move(to: sum(arrival, Ticks(steps: now >> step - ramp.slowed(now) >> step)))
        self.ramp = nil
    }

    private mutating func move(to arrival: Ticks) {
        self.arrival = arrival
        generation &+= 1
    }

    /// Changes the rate. The calls in the bucket stay, at most the new burst; a larger burst fills at the new rate. The
    /// waiting calls' debt changes with the interval.
    mutating func setRate(_ rate: ThrottleRate, burst: Int, at now: Int64) {
        let missing = max(0, whole(arrival) - whole(Ticks(steps: clock(now))))
        let (old, oldBurst) = (whole(interval), self.burst)
        let new = TokenBucket(rate, burst: burst)
        (step, resolution, interval, tolerance) = (new.step, new.resolution, new.interval, new.tolerance)
        self.burst = new.burst
        // Counted in calls, the bucket lacks as many as before, plus the growth of the burst.
        let lacking = missing.multipliedFullWidth(by: whole(interval))
        let longest = Self.longest * Int128(resolution)
        var owed = longest
        if lacking.high < old {
            let (quotient, rest) = UInt128(old).dividingFullWidth((UInt128(lacking.high), lacking.low))
            owed = Int128(clamping: quotient).saturatingAdding(rest == 0 ? 0 : 1)
        }
        let grown = whole(interval).saturatingMultiplied(by: Int128(self.burst) - Int128(oldBurst))
        move(to: part(whole(Ticks(steps: clock(now))) + min(max(0, owed.saturatingAdding(grown)), longest)))
    }

    /// Fills the bucket as of now: the waiting calls get at most one burst, however long ago they asked.
    mutating func reset(at now: Int64) {
        move(to: Ticks(steps: now >> step))
        ramp = nil
    }

    // MARK: Seen from outside

    /// The number of calls of cost 1 that could go now.
    func available(at now: Int64) -> Int {
        if isUnlimited { return .max }
        let missing = max(0, whole(arrival) - whole(Ticks(steps: clock(now))))
        return max(0, Int(clamping: (whole(tolerance) - missing).flooredDivision(by: whole(interval)).quotient))
    }

    /// Whether it is in its initial state.
    func isFull(at now: Int64) -> Bool {
        !Ticks(steps: clock(now)).precedes(arrival) && ramp?.isOver(at: now) ?? true
    }
}

/// The receipt with which a call can give its share back.
struct ShareReceipt: Sendable, Equatable {
    var first: UInt64 = 0
    var second: UInt64 = 0
}

extension Int128 {
    /// The least number whose square is this or more, for numbers above zero. Newton's method, from above.
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
