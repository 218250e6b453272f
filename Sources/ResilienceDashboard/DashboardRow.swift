#if Dashboard
    import Resilience
    import ResilienceObservability

    /// One policy or queue on the page. Times are milliseconds on the dashboard's clock: the page itself counts down,
    /// so a row need not change for that.
    struct DashboardRow: Sendable, Equatable, Encodable {
        /// A number and its meaning. The units `until` and `since` are times; lengths are milliseconds.
        struct Reading: Sendable, Equatable, Encodable {
            let label: String
            /// Finite, so that JSON can represent it.
            var value: Double
            let unit: StatusReading.Unit
            /// The largest possible value; nil without a limit.
            let limit: Int?
        }

        /// The words and numbers of a policy or a queue, which the page shows as they are.
        struct Facts: Sendable, Equatable, Encodable {
            let state: String
            let level: PolicyCondition.Level
            /// The end of the state; nil if unknown.
            var until: Int?
            var readings: [Reading] = []
            /// The problem, in the words of an error.
            var problem: String?
            /// The actions that a person can take.
            var actions: [PolicyAction] = []

            /// - Parameter now: The time on the dashboard's clock.
            init(_ health: PolicyHealth, at now: Int) {
                (state, level) = (health.condition.state, health.condition.level)
                until = health.condition.timeLeft.map { now.adding($0) }
                readings = health.readings.compactMap { Reading($0, at: now) }
                actions = health.actions
            }

            init(problem: String) {
                (state, level) = ("no answer", .down)
                self.problem = problem
            }
        }

        /// The changes of a circuit's state that the page shows.
        struct Timeline: Sendable, Equatable, Encodable {
            let state: CircuitState
            /// The state at the beginning, and `since`, the time from which it is known; nil if it is known since the
            /// dashboard was mounted.
            let before: CircuitState
            let since: Int?
            let marks: [CircuitTimeline.Mark]
        }

        let id: String
        /// The component, and the policy's place in it, for actions.
        let component: String
        let place: Int
        let name: String
        /// The name, with the names of the component and the group that it belongs to.
        let fullName: String
        let kind: String
        /// The status of its component.
        let status: HealthStatus
        var facts: Facts
        /// nil if the row is not a circuit's.
        let timeline: Timeline?

        /// Keeps an earlier row's times where the new times differ only by imprecise measurement.
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

    extension DashboardRow.Reading {
        fileprivate init?(_ reading: StatusReading, at now: Int) {
            guard let title = reading.title, let value = reading.value else { return nil }
            (label, unit, limit) = (title, reading.unit, reading.limit)
            let milliseconds = value * 1_000
            switch reading.unit {
            case .until: self.value = Double(now) + milliseconds
            case .since: self.value = Double(now) - milliseconds
            case .seconds: self.value = milliseconds
            case .count, .bytes, .perSecond, .share: self.value = value
            }
            if !self.value.isFinite { return nil }
        }
    }

    extension Int {
        /// Moves a time in milliseconds by a duration.
        func adding(_ duration: Duration) -> Int {
            saturatingAdding(Int(clamping: duration.saturatedNanoseconds / 1_000_000))
        }
    }
#endif
