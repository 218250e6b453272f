/// What a throttle was made with, beside its limit and its ramp, which its machine has.
struct ThrottleConfiguration: Sendable, Equatable {
    let maxWait: Duration
    let maxWaiting: Int
    /// nil if a 429 holds nobody.
    let holdBackoff: Backoff?
    let maxHold: Duration
}
