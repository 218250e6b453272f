@testable import Resilience

/// All permits that a bucket gave out, and when. Its level is recomputed from them each time. In the level's units a
/// call costs the period's nanoseconds, and each nanosecond adds the rate's calls.
struct BucketHistory {
    enum Event {
        case taken(at: MonotonicInstant, cost: Int)
        /// A good probe: afterwards at most one call's permit is left.
        case emptied(at: MonotonicInstant)

        var instant: MonotonicInstant {
            switch self {
            case .taken(let instant, _), .emptied(let instant): instant
            }
        }
    }

    /// Units per call, and units per nanosecond; the first is 0 in a gate without a rate.
    let price: Int128
    let flow: Int128
    let burst: Int
    private(set) var step: Int128 = 1
    var events: [Event] = []

    init(_ rate: ThrottleRate?, burst: Int) {
        flow = Int128(rate?.calls ?? 1)
        price = rate.map { Int128($0.period.saturatedNanoseconds) } ?? 0
        self.burst = burst
        // With a burst of centuries the clock advances in steps.
        while (price + flow - 1) / flow * Int128(burst) / step > Int128(Int64.max / 2) { step *= 2 }
    }

    var capacity: Int128 { price * Int128(burst) }

    func price(_ cost: Int) -> Int128 { price * Int128(cost) }

    func level(at now: MonotonicInstant) -> Int128 {
        var level = capacity
        var filledAt = (events.first?.instant ?? now).nanoseconds
        func fill(until instant: MonotonicInstant) {
            let (more, overflows) = (floor(instant.nanoseconds) - floor(filledAt)).multipliedReportingOverflow(by: flow)
            level = overflows ? capacity : min(capacity, level.saturatingAdding(more))
            filledAt = instant.nanoseconds
        }
        for event in events {
            fill(until: event.instant)
            switch event {
            case .taken(_, let cost): level -= price(cost)
            case .emptied: level = min(level, price)
            }
        }
        fill(until: now)
        return level
    }

    /// When a call that asks at `now` may go, if no other call goes first.
    func turn(of cost: Int, at now: MonotonicInstant) -> Int128 {
        let missing = max(0, price(cost) - level(at: now))
        return turn(missing, from: now)
    }

    /// The time at which the missing units have been added.
    func turn(_ missing: Int128, from now: MonotonicInstant) -> Int128 {
        if missing == 0 { return Int128(now.nanoseconds) }
        let turn = floor(now.nanoseconds) + (missing + flow - 1) / flow
        return (turn + (step - 1)).flooredDivision(by: step).quotient * step
    }

    private func floor(_ nanoseconds: Int64) -> Int128 {
        Int128(nanoseconds).flooredDivision(by: step).quotient * step
    }
}
