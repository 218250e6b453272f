import Resilience

/// Finds how many concurrent requests a server takes, if it limits them.
///
/// Such a server rejects the first request beyond its limit, and none before it. So if a run ends when more requests
/// are in flight than ever before in it, that number is assumed to be one too many. A limit on the rate may also end a
/// run there, so the rate is measured as well: if the rate was the reason, the next run ends before it reaches that
/// number again, or after many requests, which disproves the assumption. The number at first grows by one at a time,
/// even if several answers come at once.
///
/// To find a limit that has grown, it tries one more request in flight after many acknowledgements. If that succeeds
/// for as many acknowledgements, it tries two more, then four. Otherwise it goes back, and waits for twice as many
/// acknowledgements before it tries one more.
struct WidthSearch: Sendable, Hashable {
    /// The most requests to have in flight; nil if there is no evidence of a limit.
    private(set) var limit: Int?

    /// The most requests in flight in this run, including those of earlier runs, and the acknowledgements since that
    /// number was reached.
    private var widest = 0
    private var acknowledged = 0
    /// When a request first reached that number.
    private var widestSentAt = MonotonicInstant.distantPast
    /// The requests of earlier runs in flight when this one began.
    private var earlier = 0
    /// After how many acknowledgements at the limit to try more, and how many have come so far.
    private var patience = Self.leastPatience
    private var held = 0
    /// The latest increase of the limit, while it is being tried; 0 if there is none.
    private var tried = 0

    private static let leastPatience = 1_000
    private static let mostPatience = 1_000_000
    /// Two requests go out at first, and a 429 with one in flight proves nothing. So three is the lowest number that
    /// can show a limit, unless slow requests of earlier runs are in flight: with two of them, every run begins with
    /// three.
    private static let leastWidth = 3
    /// Growing by one at a time beyond this would take long if many may be in flight.
    private static let careful = 2..<8

    /// Called when a run begins: a probe goes out, and after it one more with each acknowledgement.
    /// - Parameter earlier: The number of requests of earlier runs that are in flight.
    mutating func runBegan(beside earlier: Int) { (widest, acknowledged, self.earlier) = (0, 0, earlier) }

    /// - Parameter inFlight: The number of requests in flight, including this one.
    mutating func sent(inFlight: Int, at now: MonotonicInstant) {
        if inFlight > widest { (widest, acknowledged, widestSentAt) = (inFlight, 0, now) }
    }

    /// How many may be in flight while the rate is unknown: no more than before, until another request is acknowledged.
    var most: Int { limit ?? (acknowledged == 0 && Self.careful.contains(widest) ? widest : .max) }

    mutating func acknowledgedOne() {
        acknowledged += 1
        guard let limit, widest >= limit else { return }
        held += 1
        guard held >= patience else { return }
        if tried > 0 { patience = Self.leastPatience }
        tried = max(1, 2 * tried)
        self.limit = limit + tried
        (widest, held) = (0, 0)
    }

    /// Called when a 429 ends the run.
    /// - Parameter sentAt: When the rejected request was sent.
    /// - Returns: Whether the width is certainly to blame, so that the run shows nothing about the rate.
    mutating func runEnded(sentAt: MonotonicInstant, isRateKnown: Bool) -> Bool {
        // If the request was sent before the greatest width was reached, fewer were in flight.
        let width = sentAt < widestSentAt ? widest - 1 : widest
        // The answers to requests sent before the 429 come in up to two rounds.
        let isAtWidest = width >= Self.leastWidth && acknowledged <= 2 * widest
        let known = limit
        let isTooWide =
            isAtWidest
            && (known.map { width > $0 - max(1, tried) } ?? (width - earlier >= Self.leastWidth && !isRateKnown))
        if !isTooWide {
            (limit, patience) = (nil, Self.leastPatience)
        } else if let known, tried > 0 {
            (limit, patience) = (known - tried, min(2 * patience, Self.mostPatience))
        } else {
            limit = min(known ?? .max, width - 1)
        }
        (held, tried) = (0, 0)
        return isTooWide && known != nil
    }

    /// Called when a run's probe was rejected. If it was alone in flight, the width is not to blame.
    mutating func probeRejected() {
        if widest == 1 { (limit, patience, tried) = (nil, Self.leastPatience, 0) }
    }
}
