#if Redis
    import Resilience
    import ResilienceTesting

    @testable import ResilienceFleet

    /// A fleet whose members are in this process, on simulated time.
    final class FleetWorld: Sendable {
        let clock = ManualClock()
        let bench: ScriptBench
        let isUp = Locked(true)
        let asked = Locked(0)
        let log = Locked<[(member: Int, time: MonotonicInstant)]>([])

        init() throws { bench = try ScriptBench() }

        /// - Parameter hangs: Whether an engine that is down leaves questions unanswered for a minute.
        func fleet(
            lease: Duration = .milliseconds(100), expected: Int = 1, hangs: Bool = false,
            latency: Duration = .microseconds(500),
            isGone: @escaping @Sendable () -> Bool = { false },
            losing: @escaping @Sendable () -> Bool = { false },
            delaying: @escaping @Sendable () -> Duration? = { nil }
        ) -> Fleet {
            let engine = SimulatedEngine(
                bench: bench, clock: clock, latency: latency, hangs: hangs, losesAnswers: losing,
                delaysQuestions: delaying,
                isUp: { [self] in
                    asked.withLock { $0 += 1 }
                    return isUp.withLock { $0 } && !isGone()
                })
            return Fleet("f", engine: engine, leaseTime: lease, expectedMembers: expected, timeBase: clock)
        }

        var seconds: Double { Double(clock.now.nanoseconds - 3_600_000_000_000) / 1e9 }
    }

    /// Counts by member.
    final class Counts: Sendable {
        private let counts: Locked<[Int]>

        init(_ count: Int) { counts = Locked([Int](repeating: 0, count: count)) }

        var all: [Int] { counts.withLock { $0 } }

        func add(_ index: Int) { counts.withLock { $0[index] += 1 } }
    }
#endif
