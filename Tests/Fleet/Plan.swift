#if Redis
    import Resilience
    import ResilienceFleet

    /// What a member is to do.
    struct Plan: Codable, Sendable {
        enum Address: Codable, Sendable {
            case socket(String)
            case port(UInt16)
        }

        var address: Address
        var members = 8
        var fallback = FleetFallback.localShare
        var lease = Duration.milliseconds(100)
        /// Callers in each member; all of them together call three times as often as the limit allows.
        var callers = 4
        /// From when to when it calls, on the machine's monotonic clock, which all processes share.
        var begin = MonotonicInstant.distantPast
        var end = MonotonicInstant.distantPast

        /// The limit per second, and the burst.
        static let (rate, burst) = (1_000, 100)
        /// Calls per second that the members want, as a multiple of the limit.
        static let demand = 3
        /// The calls of one lease: what was handed out before a stretch of time may be used in it.
        var leased: Int { Int(Double(Self.rate) * (lease / .seconds(1))) }
        var engineLimit: Duration { lease / 2 }
        /// How long a call may take whose `maxWait` is 0: a question to the engine that is in flight, and its own.
        var budget: Duration { engineLimit * 2 + .milliseconds(10) }

        /// The mean time from one call of a caller to its next.
        var pause: Duration { .seconds(1) * (callers * members) / (Self.rate * Self.demand) }
    }

    /// What a member has seen, in slots of 10 ms.
    struct Record: Codable, Sendable {
        static let slot = Duration.milliseconds(10)

        struct Slot: Codable, Sendable {
            var admitted = 0
            var rejected = 0
            /// The longest time that a call took which ended here, in microseconds.
            var longest = 0
            /// By how much the latest timer was late, in microseconds: what the machine adds to any wait.
            var late = 0
        }

        struct Turn: Codable, Sendable {
            var isAway: Bool
            var time: MonotonicInstant
        }

        var slots: [Slot]
        /// The number of calls, by the time that they took, in units of 100 µs; and of timers, by how late they were.
        var took: [Int: Int] = [:]
        var late: [Int: Int] = [:]
        /// Calls to the engine.
        var asked = 0
        /// When calls to the engine failed.
        var failures: [MonotonicInstant] = []
        /// When the engine was away, and when it was back.
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
