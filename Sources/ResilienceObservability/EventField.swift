#if Logging || Tracing
    import Resilience
    import ResilienceSync

    /// One detail of an event, as metadata of a log line or an attribute of a span.
    struct EventField: Sendable, Equatable {
        enum Value: Sendable, Equatable {
            case text(String)
            case integer(Int)
            case milliseconds(Double)
        }

        /// With the prefix `resilience.`; a duration's ends in `_ms`.
        let key: String
        let value: Value

        init(_ key: String, _ text: String) { self.init(key, value: .text(text)) }
        init(_ key: String, _ integer: Int) { self.init(key, value: .integer(integer)) }
        init(_ key: String, _ duration: Duration) {
            self.init("\(key)_ms", value: .milliseconds((duration.inSeconds * 1_000_000).rounded() / 1_000))
        }

        private init(_ key: String, value: Value) {
            self.key = "resilience.\(key)"
            self.value = value
        }

        private init?(_ key: String, ifAny duration: Duration?) {
            guard let duration else { return nil }
            self.init(key, duration)
        }

        private init?(_ key: String, ifAny integer: Int?) {
            guard let integer else { return nil }
            self.init(key, integer)
        }
    }

    extension EventField {
        /// Returns the details of an event, and of what failed.
        static func fields(of event: PolicyEvent) -> [EventField] {
            fields(of: event.detail) + (event.failure.map { fields(of: $0) } ?? [])
        }

        /// Returns what something failed with: as one text, and in its parts.
        static func fields(of failure: FailureDetail) -> [EventField] {
            let parts: [(key: String, text: String?)] = [
                ("failure", failure.description), ("error_type", failure.type), ("error_code", failure.code),
                ("host", failure.host), ("failed_by", failure.policy),
            ]
            return parts.compactMap { part in part.text.map { EventField(part.key, $0) } }
                + [EventField("status", ifAny: failure.status)].compactMap { $0 }
        }

        /// Returns the details of an event; none of an event of a policy that this package does not know.
        static func fields(of detail: any PolicyEventDetail) -> [EventField] {
            switch detail {
            case let event as Pipeline.Event: fields(of: event)
            case let event as CircuitBreaker.Event: fields(of: event)
            case let event as Hedge.Event: fields(of: event)
            case let event as AdaptiveThrottle.Event: fields(of: event)
            case let event as Chaos.Event: fields(of: event)
            case let event as Retry.Event: fields(of: event)
            case let event as Throttle.Event: fields(of: event)
            case let event as Bulkhead.Event: fields(of: event)
            case let event as Timeout.Event: fields(of: event)
            case let event as FallbackEvent: fields(of: event)
            case let event as EndpointPoolEvent: fields(of: event)
            case let event as SingleFlightEvent: fields(of: event)
            case let event as CacheEvent: fields(of: event)
            case let event as SyncEvent: fields(of: event)
            default: []
            }
        }

        private static func fields(of event: Pipeline.Event) -> [EventField] {
            switch event {
            case .attemptSucceeded(let number, let took):
                [EventField("attempt", number), EventField("duration", took)]
            case .attemptFailed(let number, let verdict, let took):
                [EventField("attempt", number), EventField("duration", took)] + fields(of: verdict)
            case .succeeded(let took, let attempts, let waits), .rejected(let took, let attempts, let waits),
                .cancelled(let took, let attempts, let waits):
                fields(of: took, attempts, waits)
            case .failed(let verdict, let took, let attempts, let waits):
                fields(of: took, attempts, waits) + fields(of: verdict)
            }
        }

        private static func fields(of took: Duration, _ attempts: Int, _ waits: [PolicyWait]) -> [EventField] {
            let call = [EventField("attempts", attempts), EventField("duration", took)]
            guard !waits.isEmpty else { return call }
            return call + [EventField("waited", waits.reduce(.zero) { $0 + $1.duration })]
        }

        private static func fields(of verdict: Verdict) -> [EventField] {
            [EventField("verdict", "\(verdict.kind)"), EventField("retry_after", ifAny: verdict.retryAfter)].compactMap
            { $0 }
        }

        private static func fields(of event: CircuitBreaker.Event) -> [EventField] {
            switch event {
            case .allowed(let state): [EventField("state", state.rawValue)]
            case .failure(let count, let limit): counted(count, limit)
            case .opened(let count, let limit, let length):
                counted(count, limit) + [EventField("break", ifAny: length)].compactMap { $0 }
            case .rejected(let wait): [EventField("retry_after", ifAny: wait)].compactMap { $0 }
            case .reopened(let length), .tripped(let length): [EventField("break", ifAny: length)].compactMap { $0 }
            case .late(let verdict): fields(of: verdict)
            case .modeChanged(let mode): [EventField("mode", "\(mode)")]
            case .breakEndedByHand(let state): [EventField("state", state.rawValue)]
            case .waiting, .halfOpened, .recovered, .breakEnded, .reset, .wouldOpen: []
            }
        }

        private static func counted(_ count: Int, _ limit: Int?) -> [EventField] {
            [EventField("failures", count), EventField("failure_limit", ifAny: limit)].compactMap { $0 }
        }

        private static func fields(of event: Hedge.Event) -> [EventField] {
            switch event {
            case .hedged(let number, let wait), .won(let number, let wait):
                [EventField("hedge", number), EventField("wait", wait)]
            case .budgetExhausted, .notCopied: []
            }
        }

        private static func fields(of event: AdaptiveThrottle.Event) -> [EventField] {
            switch event {
            case .began(let share), .rejected(let share):
                [EventField("rejection_percent", Int((share * 100).rounded()))]
            case .ended: []
            }
        }

        private static func fields(of event: Chaos.Event) -> [EventField] {
            switch event {
            case .failed(let verdict, let wait): fields(of: verdict) + [EventField("wait", wait)]
            case .lostAnswer(let verdict): fields(of: verdict)
            case .delayed(let wait), .cancelled(let wait): [EventField("wait", wait)]
            case .behaved(let name): [EventField("behavior", name)]
            case .leftOut: []
            case .limitReached(let count): [EventField("touched", count)]
            case .turnedOn(let length): [EventField("length", length)]
            case .turnedOff(let reason): [EventField("reason", reason.rawValue)]
            }
        }

        private static func fields(of event: Retry.Event) -> [EventField] {
            switch event {
            case .retrying(let attempt, let limit, let wait, let verdict):
                [EventField("attempt", attempt), EventField("max_attempts", limit), EventField("wait", wait)]
                    + fields(of: verdict)
            case .gaveUp(let attempt, let reason):
                [EventField("attempt", attempt), EventField("reason", reason.rawValue)]
            }
        }

        private static func fields(of event: Throttle.Event) -> [EventField] {
            switch event {
            case .rejected(let wait): [EventField("retry_after", ifAny: wait)].compactMap { $0 }
            case .held(let length): [EventField("wait", length)]
            case .holdEnded: []
            }
        }

        private static func fields(of event: Bulkhead.Event) -> [EventField] {
            switch event {
            case .queued, .sheddingBegan, .sheddingEnded: []
            case .rejected(let reason): [EventField("reason", "\(reason)")]
            case .limitChanged(_, let limit), .limitAdapted(_, let limit), .queueChanged(_, let limit):
                [EventField("limit", limit)]
            }
        }

        private static func fields(of event: Timeout.Event) -> [EventField] {
            switch event {
            case .timedOut(let limit): [EventField("limit", limit)]
            case .endedLate(let delay): [EventField("late", delay)]
            }
        }

        private static func fields(of event: FallbackEvent) -> [EventField] {
            switch event {
            case .fellBack(let verdict): fields(of: verdict)
            case .failed(let verdict, let error): fields(of: verdict) + [EventField("error", error)]
            }
        }

        private static func fields(of event: EndpointPoolEvent) -> [EventField] {
            switch event {
            case .ejected(let endpoint, let reason, let time):
                [EventField("endpoint", endpoint), EventField("reason", reason.name), EventField("duration", time)]
            case .notEjected(let endpoint, let reason):
                [EventField("endpoint", endpoint), EventField("reason", reason.name)]
            case .returned(let endpoint): [EventField("endpoint", endpoint)]
            case .panicBegan(let left, _): [EventField("count", left)]
            case .panicEnded: []
            }
        }

        private static func fields(of event: SingleFlightEvent) -> [EventField] {
            switch event {
            case .began: []
            case .joined(let waiting): [EventField("count", waiting)]
            case .abandoned(let time): [EventField("duration", time)]
            case .endedLate(let delay): [EventField("late", delay)]
            }
        }

        private static func fields(of event: CacheEvent) -> [EventField] {
            switch event {
            case .hit, .hitStale, .hitFailure, .missed: []
            case .loaded(let time): [EventField("duration", time)]
            case .failed(let verdict, let time): fields(of: verdict) + [EventField("duration", time)]
            case .fellBack(let verdict): fields(of: verdict)
            case .evicted(let count): [EventField("count", count)]
            }
        }

        private static func fields(of event: SyncEvent) -> [EventField] {
            switch event {
            case .enqueued(let count), .cleared(let count), .revived(let count), .discarded(let count):
                [EventField("count", count)]
            case .coalesced(let id, _, _), .dropped(let id), .duplicate(let id), .attempted(let id), .delivered(let id),
                .cancelled(let id):
                [EventField("mutation", id)]
            case .failed(let id, let failures, let error):
                [EventField("mutation", id), EventField("failures", failures), EventField("error", error)]
            case .suspected(let id, let claims): [EventField("mutation", id), EventField("claims", claims)]
            case .died(let id, let error): [EventField("mutation", id), EventField("error", error)]
            case .paused(let length): [EventField("wait", length)]
            case .pausedByHand(let length): length.map { [EventField("wait", $0)] } ?? []
            case .resumed: []
            case .offline(let error), .storeFailed(let error): [EventField("error", error)]
            case .lockedOut, .drained: []
            }
        }
    }

    extension EjectionReason {
        /// Without details, so that logs can be searched by it.
        fileprivate var name: String {
            switch self {
            case .consecutiveFailures: "consecutiveFailures"
            case .deviation: "deviation"
            case .failureShare: "failureShare"
            case .byHand: "byHand"
            }
        }
    }
#endif
