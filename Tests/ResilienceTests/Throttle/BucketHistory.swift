@testable import Resilience

/// Everything a bucket gave out, and when. What is in it is worked out from that anew each time: a call costs as many units as
/// the period has nanoseconds, and as many as the rate has calls flow in each nanosecond.
struct BucketHistory {
    enum Event {
        case taken(at: Instant, cost: Int)
        /// A good probe: one call's share is left, whatever there was.
        case emptied(at: Instant)

        var instant: Instant {
            switch self {
            case .taken(let instant, _), .emptied(let instant): instant
            }
        }
    }

    /// Units a call, and units a nanosecond; a gate without a rate has neither.
    let price: Int128
    let flow: Int128
    let burst: Int
    var events: [Event] = []

    init(_ rate: Rate?, burst: Int) {
        flow = Int128(rate?.calls ?? 1)
        // A burst of centuries is cut short.
        let longest = Int128(Int64.max / 2) * flow / Int128(burst)
        price = rate.map { min(Int128($0.period.saturatedNanoseconds), longest) } ?? 0
        self.burst = burst
    }

    var capacity: Int128 { price * Int128(burst) }

    func price(_ cost: Int) -> Int128 { price * Int128(cost) }

    func level(at now: Instant) -> Int128 {
        var level = capacity
        var filledAt = (events.first?.instant ?? now).nanoseconds
        func fill(until instant: Instant) {
            let (more, overflows) = (Int128(instant.nanoseconds) - Int128(filledAt)).multipliedReportingOverflow(
                by: flow)
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

    /// When a call that is here at `now` may go, if nobody goes before it.
    func turn(of cost: Int, at now: Instant) -> Int128 {
        let missing = max(0, price(cost) - level(at: now))
        return Int128(now.nanoseconds) + (missing + flow - 1) / flow
    }
}
