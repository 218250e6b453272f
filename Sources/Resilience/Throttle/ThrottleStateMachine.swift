/// A rate, and a gate that shuts while the other side asks for silence.
///
/// The rate is GCRA, one instant of state (Brandur Leach, "Rate Limiting, Cells, and GCRA"; throttled/throttled
/// `rate.go`). After the gate's time is over, one call goes ahead as a probe; when it is well, all go on, beginning with
/// an empty bucket: at the rate, not with a burst.
struct ThrottleStateMachine: Sendable, Equatable {
    enum Gate: Sendable, Equatable {
        /// → held
        case open
        /// → probing, by the first call at or after `until`
        case held(until: Instant)
        /// → open, or → held; a probe that never reports loses its place when the lease ends
        case probing(leaseEnds: Instant)
    }

    enum Answer: Equatable {
        case go
        /// Go, and the gate waits for how it ends.
        case probe
        /// The rate allows it at this instant.
        case notBefore(Instant)
        /// The gate is shut until this instant.
        case held(until: Instant)
        /// Another call is the probe; its end, or this instant, decides.
        case probing(until: Instant)
        /// More than the burst ever holds.
        case never
    }

    static let probeLease = Duration.seconds(60)

    /// Nanoseconds a call; 0 means without a limit.
    private let interval: Int64
    /// Nanoseconds of burst.
    private let tolerance: Int64
    /// The theoretical arrival time: when the bucket is full again, a burst later than now at most.
    private(set) var arrival = Int64.min
    private(set) var gate = Gate.open
    /// Counts the gate's shuttings, and the probes that lost their place: what was admitted before the last of these is
    /// news of an earlier state.
    private(set) var epoch: UInt64 = 0
    /// Times shut in a row without a good probe.
    private(set) var holds = 0
    /// Holds in a row before the one that a 429 of this moment belongs to: many of them are one hold.
    var holdsBefore: Int {
        if case .held = gate { holds - 1 } else { holds }
    }

    init(rate: Rate?, burst: Int) {
        precondition(burst >= 1, "Throttle: burst is \(burst), and must be at least 1")
        // A burst of more than 146 years is out of reach all the same, and would make the readings saturate.
        interval = min(rate?.interval ?? 0, .max / 2 / Int64(burst))
        tolerance = interval * Int64(burst)
    }

    /// A call asks to go ahead. Takes its share only if the answer is ``Answer/go`` or ``Answer/probe``.
    mutating func ask(cost: Int = 1, at now: Instant) -> Answer {
        switch gate {
        case .open:
            break
        case .held(let until):
            guard until <= now else { return .held(until: until) }
            gate = .probing(leaseEnds: now + Self.probeLease)
            return .probe
        case .probing(let leaseEnds):
            guard leaseEnds <= now else { return .probing(until: leaseEnds) }
            // Whatever becomes of the probe that has lost its place, it decides nothing for the next.
            epoch &+= 1
            gate = .probing(leaseEnds: now + Self.probeLease)
            return .probe
        }
        guard let (next, allowedAt) = share(of: cost, at: now) else { return .never }
        guard allowedAt <= now.nanoseconds else { return .notBefore(Instant(nanoseconds: allowedAt)) }
        arrival = next
        return .go
    }

    /// Takes a share now for a call that will go ahead later, when ``ask(cost:at:)`` said it may.
    /// - Returns: a receipt for ``giveBack(_:cost:)``.
    mutating func reserve(cost: Int = 1, at now: Instant) -> Int64 {
        guard let (next, _) = share(of: cost, at: now) else { return arrival }
        arrival = next
        return next
    }

    /// A reserved call will not go ahead. Its share returns, unless a later reservation has built on it.
    mutating func giveBack(_ receipt: Int64, cost: Int = 1) {
        if arrival == receipt {
            arrival = receipt.saturatingSubtracting(interval.saturatingMultiplied(by: Int64(cost)))
        }
    }

    private func share(of cost: Int, at now: Instant) -> (arrival: Int64, allowedAt: Int64)? {
        let share = interval.saturatingMultiplied(by: Int64(max(0, cost)))
        guard share <= tolerance else { return nil }
        let next = max(now.nanoseconds, arrival).saturatingAdding(share)
        return (next, next.saturatingSubtracting(tolerance))
    }

    /// Shuts the gate until `until`, or longer if it is shut for longer already.
    mutating func hold(until: Instant) {
        switch gate {
        case .open, .probing:
            gate = .held(until: until)
            epoch &+= 1
            holds = holds.saturatingAdding(1)
        case .held(let present):
            gate = .held(until: max(present, until))
        }
    }

    /// A hold is over before its time.
    mutating func endHold(at now: Instant) {
        if case .held(let until) = gate { gate = .held(until: min(until, now)) }
    }

    /// The other side asked for fewer calls.
    /// - Parameter admitted: the epoch the call was admitted in.
    /// - Returns: whether the gate is to be held because of it.
    func minds(throttledInEpoch admitted: UInt64, wasProbe: Bool) -> Bool {
        switch gate {
        case .open: admitted == epoch
        case .held: true
        case .probing: wasProbe && admitted == epoch
        }
    }

    /// The probe ended, without being asked for fewer calls. `decided` is false if nobody knows how, as when cancelled.
    mutating func probeEnded(decided: Bool, inEpoch admitted: UInt64, at now: Instant) {
        guard case .probing = gate, admitted == epoch else { return }
        if decided {
            gate = .open
            holds = 0
            arrival = max(arrival, now.nanoseconds.saturatingAdding(tolerance - interval))
        } else {
            gate = .held(until: now)
        }
    }
}
