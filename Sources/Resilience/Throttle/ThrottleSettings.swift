/// The settings of a throttle, except its limit and its ramp, which the machine has.
struct ThrottleSettings: Sendable, Equatable {
    let maxWait: Duration
    let queue: Int
    /// nil if a 429 does not hold calls.
    let holdBackoff: Backoff?
    let maxHold: Duration
    /// How long after the beginning of a hold that the other side has named the first call probes; 0 if none does.
    var earlyProbe = Duration.zero
}
