#if Redis
    import Resilience
    import ResilienceFleet

    /// The work of a member.
    struct Plan: Codable, Sendable {
        enum Address: Codable, Sendable {
            case socket(String)
            case port(UInt16)
        }

        var address: Address
        var members = 8
        var fallback = FleetFallback.localShare
        var lease = Duration.milliseconds(100)
        /// Callers per member; all callers together call three times as often as the limit allows.
        var callers = 4
        /// When the member begins and stops calling, on the machine's monotonic clock, which all processes share.
        var begin = MonotonicInstant.distantPast
        var end = MonotonicInstant.distantPast

        /// The limit per second, and the burst.
        static let (rate, burst) = (1_000, 100)
        /// The rate that the members want, as a multiple of the limit.
        static let demand = 3
        /// The number of calls that one lease allows: in any stretch of time, calls may also use leases from before it.
        var leased: Int { Int(Double(Self.rate) * (lease / .seconds(1))) }
        var engineLimit: Duration { lease / 2 }
        /// How long a call with a `maxWait` of 0 may take: a question to the engine that is already in flight, and then
        /// its own question.
        var budget: Duration { engineLimit * 2 + .milliseconds(10) }

        /// The mean time between two calls of a caller.
        var pause: Duration { .seconds(1) * (callers * members) / (Self.rate * Self.demand) }
    }

    /// What a member has seen, in slots of 10 ms.
    struct Record: Codable, Sendable {
        static let slot = Duration.milliseconds(10)

        struct Slot: Codable, Sendable {
            var admitted = 0
            var rejected = 0
            /// The longest call that ended here, in microseconds.
            var longest = 0
            /// The greatest lateness of a timer, in microseconds: the machine adds it to any wait.
            var late = 0
        }

        struct Turn: Codable, Sendable {
            var isAway: Bool
            var time: MonotonicInstant
        }

        var slots: [Slot]
        /// The number of calls by duration, and of timers by lateness, in units of 100 µs.
        var took: [Int: Int] = [:]
        var late: [Int: Int] = [:]
        /// Calls to the engine.
        var asked = 0
        /// When calls to the engine failed.
        var failures: [MonotonicInstant] = []
        /// When the engine went away, and when it came back.
        var turns: [Turn] = []

        init(_ plan: Plan) {
            let count = Int(plan.begin.duration(to: plan.end) / Self.slot)
            slots = [Slot](repeating: Slot(), count: count)
        }

        mutating func note(at time: MonotonicInstant, of plan: Plan, _ body: (inout Slot) -> Void) {
            let index = Int(plan.begin.duration(to: time) / Self.slot)
            if slots.indices.contains(index) { body(&slots[index]) }
        }
    }
#endif
