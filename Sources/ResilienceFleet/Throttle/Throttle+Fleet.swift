public import Resilience

extension Throttle {
    /// Creates a throttle whose limit all processes of a fleet share.
    ///
    /// It works like any throttle, with permits that the fleet's engine hands out in lots. A lot is this process's use
    /// in one ``Fleet/leaseTime``; while it lasts, a call does not ask the engine. Unused permits go back. If all
    /// processes together want too many, each gets an equal part. A 429 in one process holds all processes, and one
    /// call of the fleet probes.
    ///
    /// - A call that finds no permits waits up to twice ``Fleet/engineLimit`` for the engine's answer, even if
    ///   `maxWait` is 0.
    /// - A permit by hand (``/Resilience/Policy/tryAcquire(options:)``) can't wait for that. Missing permits are
    ///   requested, and one is kept for the next twenty leases. A window's permit ends sooner, and is then requested
    ///   again.
    /// - Each lot is handed out as a whole. So as many calls as `burst`, or as one lease allows if that is more, may go
    ///   at once.
    /// - Windows begin at multiples of their length since 1970 on the engine's clock. A sliding window is counted in
    ///   fiftieths of its length, and never admits more calls than its limit.
    /// - ``/Resilience/Throttle/setRate(_:burst:)`` changes the rate of this process's requests. Set it in all
    ///   processes.
    ///
    /// - Parameters:
    ///   - name: The name in events and errors, and of the limit in the fleet.
    ///   - limit: The rate limit over all processes. All processes must pass the same limit.
    ///   - others: Further limits on the same calls, such as one per hour beside one per second: a permit counts for
    ///     all of them or for none, and the longest wait counts. The settings, the quota and `setRate` are about the
    ///     limit that admits the fewest calls at once. While the engine is unavailable, `.localShare` uses one rate
    ///     that keeps within all limits.
    ///   - fleet: The processes.
    ///   - fallback: The throttle's behavior while the engine is unavailable.
    ///   - maxWait: How long a call may wait for its turn; 0 or more.
    ///   - queue: How many calls of this process may wait at the same time; 0 or more.
    ///   - holdOnThrottled: Whether a 429 holds all calls of the fleet.
    ///   - holdBackoff: The length of the nth hold in a row, if the other side names no wait; not `custom`.
    ///   - maxHold: The longest hold; 0 or more.
    ///   - ramp: How long a rate takes after a hold to grow from zero to the full rate; 0 or more. Windows have no
    ///     ramp.
    ///   - observers: The observers of this throttle's events; nil for none at first.
    public convenience init(
        _ name: String = "throttle", limit: ThrottleLimit, and others: [ThrottleLimit] = [], in fleet: Fleet,
        whenAway fallback: FleetFallback = .localShare,
        maxWait: Duration = .zero, queue: Int = 10_000, holdOnThrottled: Bool = false,
        holdBackoff: Backoff = .exponential(from: .seconds(1), cap: .seconds(60), jitter: .none),
        maxHold: Duration = .seconds(3600), ramp: Duration = .zero, observers: PolicyObservers? = nil
    ) {
        // A call may cost at most as much as each limit admits at once.
        var others = ([limit] + others).filter { $0 != .unlimited }
        let first = others.indices.min { others[$0].most < others[$1].most }
        let limit = first.map { others.remove(at: $0) } ?? .unlimited
        let leaser = PermitLeaser(
            fleet: fleet, key: fleet.key("throttle1", name), others: others, fallback: fallback)
        let settings = Settings(
            limit: limit, maxWait: maxWait, queue: queue, holdOnThrottled: holdOnThrottled, holdBackoff: holdBackoff,
            maxHold: maxHold, earlyProbe: .zero, ramp: ramp)
        self.init(
            name, settings: settings, supply: (leaser, fleet.timeToKnow), timeBase: fleet.timeBase,
            observers: observers)
        leaser.supply(self)
    }
}
