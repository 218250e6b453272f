#if Dashboard
    import Resilience

    /// The last changes of one circuit's state. Times are milliseconds on the dashboard's clock.
    struct CircuitTimeline: Sendable, Equatable {
        struct Mark: Sendable, Equatable, Encodable {
            let at: Int
            let state: CircuitState
        }

        /// The number of changes kept; the oldest are dropped first. A circuit whose probe fails every 5 s has 240 in
        /// 10 minutes.
        static let limit = 256

        /// The state before the first mark.
        private(set) var before: CircuitState
        /// The time from which the states are known; nil if they are known from the start, because no change was
        /// dropped.
        private(set) var since: Int?
        private(set) var marks: [Mark] = []

        init(before: CircuitState) { self.before = before }

        /// - Parameter time: The time of the change. A time before the last change counts as the time of that change.
        mutating func note(_ state: CircuitState, at time: Int) {
            let time = max(time, marks.last?.at ?? time)
            if marks.count == Self.limit { dropFirst() }
            marks.append(Mark(at: time, state: state))
        }

        /// Drops the changes before a time, which the page no longer shows.
        mutating func forget(before time: Int) {
            while let first = marks.first, first.at < time { dropFirst() }
        }

        private mutating func dropFirst() {
            let first = marks.removeFirst()
            (before, since) = (first.state, first.at)
        }
    }

    /// The timelines of all circuits that have changed since the dashboard was mounted.
    struct Timelines: Sendable {
        /// A circuit: its component, and its place among the component's policies.
        struct Circuit: Hashable, Sendable {
            let component: String
            let place: Int
        }

        private let limit: Int
        private var all: [Circuit: CircuitTimeline] = [:]

        /// - Parameter limit: The number of circuits kept. At the limit, a new circuit replaces the one whose last
        ///   change is the oldest.
        init(limit: Int = 1000) { self.limit = max(1, limit) }

        var count: Int { all.count }

        mutating func note(_ transition: CircuitTransition, of circuit: Circuit, at time: Int) {
            if all[circuit] == nil, all.count >= limit {
                let oldest = all.min { ($0.value.marks.last?.at ?? .min) < ($1.value.marks.last?.at ?? .min) }
                if let oldest { all[oldest.key] = nil }
            }
            all[circuit, default: CircuitTimeline(before: transition.from)].note(transition.to, at: time)
        }

        /// - Returns: The known states since a time; nil without a change since the dashboard was mounted.
        func timeline(of circuit: Circuit, since time: Int) -> CircuitTimeline? {
            all[circuit].map { timeline in
                var timeline = timeline
                timeline.forget(before: time)
                return timeline
            }
        }
    }
#endif
