#if Dashboard
    import Resilience
    import ResilienceObservability
    import ResilienceSync

    /// What the page shows at one moment. Times are milliseconds on the dashboard's clock, so a row whose countdown
    /// runs is the same row: the page counts by itself.
    struct DashboardState: Sendable, Equatable {
        struct Summary: Sendable, Equatable, Encodable {
            let name: String
            let status: HealthStatus
            let totals: HealthTotals
        }

        let now: Int
        let summary: Summary
        /// In the order of the page.
        let rows: [DashboardRow]

        init(_ report: HealthReport, _ timelines: Timelines, since: Int, at now: Int) {
            self.now = now
            summary = Summary(name: report.name, status: report.status, totals: report.totals)
            rows = report.components.sorted { $0.place < $1.place }.flatMap { component in
                DashboardRow.rows(of: component, timelines, since: since, at: now)
            }
        }

        /// This state as a client sees it that has an earlier one: times that are only measured a little differently
        /// stay as they were.
        func settled(on old: DashboardState) -> DashboardState {
            let before = Dictionary(old.rows.map { ($0.id, $0) }) { first, _ in first }
            return DashboardState(
                now: now, summary: summary,
                rows: rows.map { row in
                    var row = row
                    if let old = before[row.id] { row.keepTimes(of: old) }
                    return row
                })
        }

        private init(now: Int, summary: Summary, rows: [DashboardRow]) {
            (self.now, self.summary, self.rows) = (now, summary, rows)
        }
    }

    extension HealthComponent {
        /// Where it stands on the page: in the order of the monitor, and by name in a registry, whatever its status, so
        /// that rows do not jump.
        fileprivate var place: (source: Int, name: String, id: String) {
            (Int(id.prefix { $0 != "/" && $0 != "#" }) ?? .max, name, id)
        }
    }

    /// One policy or queue on the page.
    struct DashboardRow: Sendable, Equatable, Encodable {
        struct Circuit: Sendable, Equatable, Encodable {
            let state: CircuitState
            let mode: CircuitBreaker.Mode
            let isTripped: Bool
            let failures: Int
            let limit: Int?
            let calls: Int?
            var probeAt: Int?
            var since: Int?
            /// The state at the beginning of the timeline, and the changes in it.
            let before: CircuitState
            let marks: [CircuitTimeline.Mark]
        }

        struct Throttle: Sendable, Equatable, Encodable {
            /// nil without a limit.
            let available: Int?
            let waiting: Int
            let isProbing: Bool
            var heldUntil: Int?
        }

        struct AdaptiveThrottle: Sendable, Equatable, Encodable {
            let calls: Int
            let accepted: Int
            /// In whole hundredths.
            let rejectedPercent: Int
        }

        struct Chaos: Sendable, Equatable, Encodable {
            let isOn: Bool
            let touched: Int
            let delayed: Int
            var endsAt: Int?
        }

        struct Hedge: Sendable, Equatable, Encodable {
            /// In whole milliseconds, rounded up; nil as long as it is not known.
            let delay: Int?
            let samples: Int
            let left: Int
        }

        struct EndpointPool: Sendable, Equatable, Encodable {
            let count: Int
            let ejected: Int
            let inFlight: Int
            let isPanicking: Bool
        }

        struct Bulkhead: Sendable, Equatable, Encodable {
            let limit: Int
            let inUse: Int
            let waitLimit: Int
            let waiting: Int
            let isShedding: Bool
            /// In microseconds; nil if the limit is fixed, or nothing is known yet.
            let latency: Int?
            let baseline: Int?
        }

        struct Queue: Sendable, Equatable, Encodable {
            let pending: Int
            let dead: Int
            let inFlight: Int
            let bytes: Int
            let isFlushing: Bool
            let rate: Double?
            let secondsLeft: Int?
            var pausedUntil: Int?
            var oldestSince: Int?
        }

        let id: String
        /// The component, and the policy's place in it, for actions.
        let component: String
        let place: Int
        let name: String
        /// The policy's name, if it is not that of the component.
        let policy: String?
        let group: String?
        let kind: String
        let isRequired: Bool
        let isAllowed: Bool
        let status: HealthStatus
        var circuit: Circuit?
        var throttle: Throttle?
        var adaptiveThrottle: AdaptiveThrottle?
        var chaos: Chaos?
        var hedge: Hedge?
        var endpointPool: EndpointPool?
        var bulkhead: Bulkhead?
        var queue: Queue?
        let problem: String?

        static func rows(
            of component: HealthComponent, _ timelines: Timelines, since: Int, at now: Int
        ) -> [DashboardRow] {
            if let queue = component.queue { return [DashboardRow(component, queue, at: now)] }
            return component.policies.enumerated().map { place, policy in
                let circuit = Timelines.Circuit(component: component.id, place: place)
                return DashboardRow(
                    component, place, policy, timelines.timeline(of: circuit, since: since), at: now)
            }
        }

        private init(
            _ component: HealthComponent, _ place: Int, _ health: PolicyHealth, _ timeline: CircuitTimeline?,
            at now: Int
        ) {
            id = "\(component.id)#\(place)"
            self.component = component.id
            self.place = place
            name = component.name
            policy = health.policy == component.name ? nil : health.policy
            group = component.group
            kind = health.kind
            isRequired = component.isRequired
            isAllowed = health.isAllowed
            status = component.status
            problem = nil
            circuit = health.circuit.map { circuit in
                Circuit(
                    state: circuit.state, mode: circuit.mode, isTripped: circuit.isTripped,
                    failures: circuit.failureCount, limit: circuit.failureLimit, calls: circuit.callCount,
                    probeAt: circuit.timeRemaining.map { now.adding($0) },
                    since: health.inStateFor.map { now.adding(.zero - $0) },
                    before: timeline?.before ?? circuit.state, marks: timeline?.marks ?? [])
            }
            throttle = health.throttle.map { throttle in
                Throttle(
                    available: throttle.available == .max ? nil : throttle.available, waiting: throttle.queued,
                    isProbing: throttle.isProbing,
                    heldUntil: health.heldFor.flatMap { $0 > .zero ? now.adding($0) : nil })
            }
            adaptiveThrottle = health.adaptiveThrottle.map { throttle in
                AdaptiveThrottle(
                    calls: throttle.calls, accepted: throttle.accepted,
                    rejectedPercent: Int((throttle.rejection * 100).rounded(.up)))
            }
            chaos = health.chaos.map { chaos in
                Chaos(
                    isOn: chaos.isOn, touched: chaos.touched, delayed: chaos.delayed,
                    endsAt: chaos.isOn ? now.adding(chaos.timeLeft) : nil)
            }
            hedge = health.hedge.map { hedge in
                let delay = hedge.delay?.saturatedNanoseconds.saturatingAdding(999_999)
                return Hedge(
                    delay: delay.map { Int(clamping: $0 / 1_000_000) }, samples: hedge.samples, left: hedge.hedgesLeft)
            }
            endpointPool = health.endpointPool.map { pool in
                EndpointPool(
                    count: pool.endpoints.count, ejected: pool.ejected,
                    inFlight: pool.endpoints.reduce(0) { $0 + $1.inFlight }, isPanicking: pool.isPanicking)
            }
            bulkhead = health.bulkhead.map { bulkhead in
                Bulkhead(
                    limit: bulkhead.limit, inUse: bulkhead.inUse, waitLimit: bulkhead.queueLimit,
                    waiting: bulkhead.queued, isShedding: bulkhead.isShedding,
                    latency: bulkhead.adaptive?.latency.map { Int(clamping: $0.saturatedNanoseconds / 1_000) },
                    baseline: bulkhead.adaptive?.baseline.map { Int(clamping: $0.saturatedNanoseconds / 1_000) })
            }
        }

        private init(_ component: HealthComponent, _ health: QueueHealth, at now: Int) {
            id = "\(component.id)#0"
            self.component = component.id
            place = 0
            name = component.name
            policy = nil
            group = nil
            kind = "queue"
            isRequired = component.isRequired
            isAllowed = health.problem == nil && health.pausedFor == nil
            status = component.status
            problem = health.problem
            queue = health.status.map { status in
                Queue(
                    pending: status.pending, dead: status.dead, inFlight: status.inFlight, bytes: status.bytes,
                    isFlushing: status.isFlushing, rate: status.rate.map { ($0 * 10).rounded() / 10 },
                    secondsLeft: status.estimatedTimeLeft.map { Int(clamping: $0.wholeSecondsRoundedUp) },
                    pausedUntil: health.pausedFor.map { now.adding($0) },
                    oldestSince: status.oldestAge.map { now.adding(.zero - $0) })
            }
        }

        /// Keeps the times of an earlier reading that differ only as two readings of a clock do.
        mutating func keepTimes(of old: DashboardRow) {
            circuit?.probeAt.keep(old.circuit?.probeAt)
            circuit?.since.keep(old.circuit?.since)
            throttle?.heldUntil.keep(old.throttle?.heldUntil)
            chaos?.endsAt.keep(old.chaos?.endsAt)
            queue?.pausedUntil.keep(old.queue?.pausedUntil)
            queue?.oldestSince.keep(old.queue?.oldestSince)
        }
    }

    extension Int? {
        fileprivate mutating func keep(_ old: Int?) {
            if let old, let new = self, abs(new.saturatingSubtracting(old)) < 250 { self = old }
        }
    }

    extension Int {
        /// Moves a time in milliseconds by a duration.
        func adding(_ duration: Duration) -> Int {
            saturatingAdding(Int(clamping: duration.saturatedNanoseconds / 1_000_000))
        }
    }
#endif
