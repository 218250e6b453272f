#if Dashboard
    import Resilience
    import ResilienceObservability

    /// One policy or queue on the page. Times are milliseconds on the dashboard's clock, so a row whose countdown runs
    /// is the same row: the page counts by itself.
    struct DashboardRow: Sendable, Equatable, Encodable {
        /// How well it is: which colour and sign the page shows.
        enum Level: String, Sendable, Encodable, CaseIterable { case up, degraded, down, byHand, off }

        /// A number, and what it is.
        struct Reading: Sendable, Equatable, Encodable {
            /// The last two are times: until when, and since when.
            enum Unit: String, Sendable, Encodable, CaseIterable {
                case count, milliseconds, bytes, perSecond, percent, until, since
            }

            let label: String
            /// Finite, so that it can be written.
            var value: Double
            let unit: Unit
            /// What it is of at most; nil without a limit.
            let limit: Int?
        }

        /// What a policy or a queue tells, in words and numbers that the page shows as they are.
        struct Facts: Sendable, Equatable, Encodable {
            let state: String
            let level: Level
            /// When the state ends; nil if it is not known.
            var until: Int?
            var readings: [Reading] = []
            /// How much of it is in use, 0 to 1; nil if that is no question.
            var share: Double?
            /// What went wrong, in the words of an error.
            var problem: String?
            /// What can be done by hand.
            var actions: [DashboardAction.Kind] = []

            init(_ state: String, _ level: Level) { (self.state, self.level) = (state, level) }

            mutating func add(
                _ label: String, _ value: Double?, _ unit: Reading.Unit = .count, of limit: Int? = nil
            ) {
                guard let value, value.isFinite else { return }
                readings.append(Reading(label: label, value: value, unit: unit, limit: limit == .max ? nil : limit))
            }

            /// A number without a limit is left out.
            mutating func add(_ label: String, _ count: Int, of limit: Int? = nil) {
                if count != .max { add(label, Double(count), of: limit) }
            }

            mutating func add(_ label: String, _ length: Duration?) {
                add(label, length.map { Double($0.saturatedNanoseconds) / 1_000_000 }, .milliseconds)
            }

            mutating func add(_ label: String, _ unit: Reading.Unit, at time: Int?) {
                add(label, time.map { Double($0) }, unit)
            }
        }

        /// The changes of a circuit's state that the page shows.
        struct Timeline: Sendable, Equatable, Encodable {
            let state: CircuitState
            /// The state at the beginning, and since when it is known; nil for since the dashboard was mounted.
            let before: CircuitState
            let since: Int?
            let marks: [CircuitTimeline.Mark]
        }

        let id: String
        /// The component, and the policy's place in it, for actions.
        let component: String
        let place: Int
        let name: String
        /// The name with all that it is a part of.
        let fullName: String
        let kind: String
        /// How well its component is.
        let status: HealthStatus
        var facts: Facts
        /// nil if it is no circuit.
        let timeline: Timeline?

        /// Keeps the times of an earlier reading that differ only as two readings of a clock do.
        mutating func keepTimes(of old: DashboardRow) {
            if let before = old.facts.until, let until = facts.until, abs(until.saturatingSubtracting(before)) < 250 {
                facts.until = before
            }
            let before = Dictionary(old.facts.readings.map { ($0.label, $0) }) { first, _ in first }
            for (index, reading) in facts.readings.enumerated() where reading.unit == .until || reading.unit == .since {
                guard let old = before[reading.label], abs(old.value - reading.value) < 250 else { continue }
                facts.readings[index].value = old.value
            }
        }
    }

    extension Int {
        /// Moves a time in milliseconds by a duration.
        func adding(_ duration: Duration) -> Int {
            saturatingAdding(Int(clamping: duration.saturatedNanoseconds / 1_000_000))
        }
    }
#endif
