import Resilience

extension Calls {
    /// Backoff alone: computes the delay, without a call.
    public static let delays = [
        delay("delay, exponential", .exponential(jitter: .none)),
        delay("delay, with full jitter", .exponential(jitter: .full)),
        delay("delay, with decorrelated jitter", .exponential(jitter: .decorrelated)),
    ]

    private static func delay(_ name: String, _ backoff: Backoff) -> Calls {
        Calls(name) { count in
            var generator = SplitMix64.shared
            for retry in 0..<count { use(backoff.delay(beforeRetry: retry & 15, using: &generator)) }
        }
    }

    @inline(never) private static func use(_ delay: Duration) {}
}
