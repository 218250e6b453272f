/// How long a call should wait if a probe in flight keeps it out: until the probe has probably ended.
///
/// A probe is expected to take as long as the last probe, or as the last break if that was shorter, but at most a
/// second. The lease's end does not count: it is a bound for lost probes; most probes end long before.
package struct ProbeWait: Sendable, Equatable {
    /// The longest expected time of a probe, and the expected time if nothing is known.
    package static let longest = Duration.seconds(1)
    /// The shortest expected time, so that no call is told to come back at once.
    static let shortest = Duration.milliseconds(1)

    /// Both in nanoseconds.
    private var probeTook = Self.bounded(.infinite)
    private var breakLasted = Self.bounded(.infinite)

    package init() {}

    /// A probe has ended conclusively.
    mutating func probeTook(_ time: Duration) { probeTook = Self.bounded(time) }

    /// Calls are kept out for this long; zero means unknown.
    mutating func breakLasts(_ time: Duration) { breakLasted = Self.bounded(time > .zero ? time : .infinite) }

    private static func bounded(_ time: Duration) -> UInt32 {
        UInt32(clamping: max(shortest, min(time, longest)).saturatedNanoseconds)
    }

    /// The expected time of a probe.
    var expected: Duration { .nanoseconds(Int64(min(probeTook, breakLasted))) }

    /// When a probe in flight has probably ended. An overdue probe is expected to need the expected time once more,
    /// from now.
    /// - Parameters:
    ///   - start: When it began.
    ///   - leaseEnds: When another call may take its place; after `now`.
    func end(ofProbeBegunAt start: MonotonicInstant, leaseEnds: MonotonicInstant, at now: MonotonicInstant)
        -> MonotonicInstant
    {
        let step = expected.saturatedNanoseconds
        let elapsed = max(0, start.duration(to: now).saturatedNanoseconds)
        let end = start + .nanoseconds((elapsed / step + 1).saturatingMultiplied(by: step))
        // `end` saturates if the probe began very long ago.
        return min(leaseEnds, end > now ? end : now + expected)
    }
}
