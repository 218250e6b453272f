/// How a throttle counts calls against its limit: in a bucket, in a window, or by permits handed out by a supply.
struct Limiter: Sendable, Equatable {
    private enum Window: Equatable {
        case absent
        case sliding(SlidingWindow)
        case fixed(FixedWindow)
        /// An array of one element: the value is large, and few throttles have it.
        case leased([LeasedPermits])
    }

    /// Unlimited if the window counts instead.
    private var bucket: TokenBucket
    private var window = Window.absent

    init(_ limit: ThrottleLimit) {
        switch limit.kind {
        case .unlimited:
            bucket = .unlimited
        case .rate(let rate, let burst):
            bucket = TokenBucket(rate, burst: burst)
        case .window(let calls, let period, let kind):
            bucket = .unlimited
            let period = period.saturatedNanoseconds
            switch kind {
            case .sliding: window = .sliding(SlidingWindow(limit: calls, period: period))
            case .fixed(let anchor):
                window = .fixed(FixedWindow(limit: calls, period: period, anchor: anchor?.nanoseconds))
            }
        }
    }

    init(_ permits: LeasedPermits) {
        bucket = .unlimited
        window = .leased([permits])
    }

    /// The permits handed out by a supply; nil if the limiter counts by itself.
    var leased: LeasedPermits? { if case .leased(let permits) = window { permits[0] } else { nil } }

    /// Changes permits handed out by a supply.
    /// - Returns: The result of the change; nil if the limiter counts by itself.
    @discardableResult
    mutating func changeLeased<R>(_ change: (inout LeasedPermits) -> R) -> R? {
        guard case .leased(var permits) = window else { return nil }
        window = .absent
        defer { window = .leased(permits) }
        return change(&permits[0])
    }

    /// Whether it is unknown when the next call may go.
    func isUnknown(at now: Int64) -> Bool { leased?.isUnknown(at: now) ?? false }

    /// Whether the supply must learn something at once.
    var isUrgent: Bool { leased?.isUrgent ?? false }

    /// How long a call waits to learn when it may go, even if it would not wait for its turn.
    var timeToKnow: Duration { leased.map { .nanoseconds($0.patience) } ?? .zero }

    /// Whether a call may probe after a hold.
    func mayProbe(at now: Int64) -> Bool { leased?.mayProbe(at: now) ?? true }

    /// Whether a call of this cost can ever be admitted. The methods below accept only costs above zero that can be
    /// admitted.
    func allows(_ cost: Int) -> Bool { cost <= most }

    /// The largest cost that can be admitted at once.
    var most: Int {
        switch window {
        case .absent: bucket.burst
        case .sliding(let sliding): sliding.limit
        case .fixed(let fixed): fixed.limit
        case .leased(let permits): permits[0].largest
        }
    }

    /// Takes the share of a call if it may go now.
    /// - Returns: The call's turn; `now` or before if the share was taken.
    mutating func take(_ cost: Int, at now: Int64) -> Int64 {
        switch window {
        case .absent:
            return bucket.take(cost, at: now)
        case .sliding(var sliding):
            // Otherwise the log would have two references, and be copied on change.
            window = .absent
            let turn = sliding.take(cost, at: now)
            window = .sliding(sliding)
            return turn
        case .fixed(var fixed):
            let turn = fixed.take(cost, at: now)
            window = .fixed(fixed)
            return turn
        case .leased(var permits):
            window = .absent
            defer { window = .leased(permits) }
            return permits[0].take(cost, at: now)
        }
    }

    /// Takes the share of a call that has not waited, if it may go now.
    /// - Returns: Whether the share was taken.
    @inline(__always)
    mutating func takeAtOnce(_ cost: Int, at now: Int64) -> Bool {
        guard allows(cost) else { return false }
        if case .absent = window { return bucket.takeAtOnce(cost, at: now) }
        return changeLeased { $0.takeAtOnce(cost, at: now) } ?? (take(cost, at: now) <= now)
    }

    /// The receipt with which a call can give its share back. Valid right after it has taken the share.
    func receipt(at now: Int64) -> ShareReceipt {
        switch window {
        case .absent: bucket.taken
        case .sliding: ShareReceipt(first: UInt64(bitPattern: now))
        case .fixed(let fixed): ShareReceipt(first: UInt64(bitPattern: fixed.windowStart(at: now)))
        case .leased(let permits): permits[0].receipt
        }
    }

    /// Gives back the share of a call that never reached the other side.
    mutating func giveBack(_ cost: Int, _ receipt: ShareReceipt, at now: Int64) {
        let then = Int64(bitPattern: receipt.first)
        switch window {
        case .absent:
            bucket.giveBack(cost, receipt)
        case .sliding(var sliding):
            window = .absent
            sliding.giveBack(cost, takenAt: then)
            window = .sliding(sliding)
        case .fixed(var fixed):
            fixed.giveBack(cost, ofWindow: then, at: now)
            window = .fixed(fixed)
        case .leased:
            changeLeased { $0.giveBack(cost, receipt, at: now) }
        }
    }

    /// When a call of this cost may go, after other calls that cost `behind`.
    func turn(of cost: Int, behind: Int, at now: Int64) -> Int64 {
        switch window {
        case .absent: return bucket.turn(of: cost, behind: behind, at: now)
        case .sliding(let sliding): return sliding.turn(of: cost, behind: behind, at: now)
        case .fixed(let fixed): return fixed.turn(of: cost, behind: behind, at: now)
        case .leased(let permits): return permits[0].turn(of: cost, behind: behind, at: now)
        }
    }

    /// Counts a probe, which goes even if there is no share for it. A bucket does not count the probe: it is emptied
    /// when the probe has ended.
    mutating func count(_ cost: Int, at now: Int64) {
        switch window {
        case .absent:
            break
        case .sliding(var sliding):
            window = .absent
            sliding.count(cost, at: now)
            window = .sliding(sliding)
        case .fixed(var fixed):
            fixed.count(cost, at: now)
            window = .fixed(fixed)
        case .leased:
            // The supply has counted the probe.
            changeLeased { $0.probeBegan() }
        }
    }

    /// The other side answers again.
    /// - Returns: Whether there is a rate, which grows over the ramp. A window, or a throttle without a limit, has no
    ///   rate that could grow.
    mutating func recover(at now: Int64, rampingOver length: Int64) -> Bool {
        // The supply admits calls slowly at first.
        if changeLeased({ $0.drop() }) != nil { return true }
        if bucket.isUnlimited { return false }
        bucket.empty(at: now, rampingOver: length)
        return true
    }

    /// Changes the rate. Call it only on a limiter with a rate, its own or its supply's.
    mutating func setRate(_ rate: ThrottleRate, burst: Int, at now: Int64) {
        if changeLeased({ $0.setLargest(burst) }) != nil { return }
        bucket.setRate(rate, burst: burst, at: now)
    }

    mutating func reset(at now: Int64) {
        bucket.reset(at: now)
        switch window {
        case .absent: break
        case .sliding(let sliding): window = .sliding(sliding.emptied)
        case .fixed(let fixed): window = .fixed(fixed.emptied)
        case .leased: changeLeased { $0.reset() }
        }
    }

    /// The number of calls of cost 1 that other processes could make under a shared limit.
    func free(at now: Int64) -> Int { leased?.free(at: now) ?? 0 }

    /// The number of calls of cost 1 that could go now.
    func available(at now: Int64) -> Int {
        switch window {
        case .absent: return bucket.available(at: now)
        case .sliding(let sliding): return sliding.limit - sliding.inUse(at: now)
        case .fixed(let fixed): return fixed.limit - fixed.inUse(at: now)
        case .leased(let permits): return permits[0].available(at: now)
        }
    }

    /// Whether losing its state would change nothing.
    func isFull(at now: Int64) -> Bool {
        switch window {
        case .absent: return bucket.isFull(at: now)
        case .sliding(let sliding): return sliding.inUse(at: now) == 0
        case .fixed(let fixed): return fixed.inUse(at: now) == 0
        case .leased(let permits): return permits[0].isFull(at: now)
        }
    }
}
