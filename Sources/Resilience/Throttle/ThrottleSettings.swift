/// The settings of a throttle, except its limit and its ramp, which the machine has.
struct ThrottleSettings: Sendable, Equatable {
    let maxWait: Duration
    let queue: Int
    /// nil if a 429 does not hold calls.
    let holdBackoff: Backoff?
    let maxHold: Duration
}
