#if Logging
    import Foundation
    import Logging
    import Resilience
    import ResilienceTraffic
    import ResilienceObservability
    import ResilienceSync
    import TestSupport
    import Testing

    /// Checks the guide's table of levels against the code.
    @Suite struct LevelTableTests {
        private static let all: [(policy: String, detail: any PolicyEventDetail)] = [
            ("call", Pipeline.Event.attemptSucceeded(1, took: .zero)),
            ("call", Pipeline.Event.attemptFailed(1, .transient, took: .zero)),
            ("call", Pipeline.Event.succeeded(took: .zero, attempts: 1)),
            ("call", Pipeline.Event.failed(.transient, took: .zero, attempts: 1)),
            ("call", Pipeline.Event.rejected(took: .zero, attempts: 0)),
            ("call", Pipeline.Event.cancelled(took: .zero, attempts: 0)),
            ("breaker", CircuitBreaker.Event.allowed(.closed)), ("breaker", CircuitBreaker.Event.failure(1, of: 5)),
            ("breaker", CircuitBreaker.Event.opened(5, of: 5, for: nil)),
            ("breaker", CircuitBreaker.Event.rejected(retryAfter: nil)), ("breaker", CircuitBreaker.Event.waiting),
            ("breaker", CircuitBreaker.Event.halfOpened), ("breaker", CircuitBreaker.Event.recovered),
            ("breaker", CircuitBreaker.Event.reopened(for: nil)), ("breaker", CircuitBreaker.Event.breakEnded),
            ("breaker", CircuitBreaker.Event.reset), ("breaker", CircuitBreaker.Event.tripped(for: nil)),
            ("breaker", CircuitBreaker.Event.breakEndedByHand(.halfOpen)),
            ("breaker", CircuitBreaker.Event.late(.transient)),
            ("breaker", CircuitBreaker.Event.modeChanged(.automatic)),
            ("breaker", CircuitBreaker.Event.wouldOpen),
            ("retry", Retry.Event.retrying(attempt: 1, of: 2, after: .zero, .transient)),
            ("retry", Retry.Event.gaveUp(attempt: 1, .attemptsExhausted)),
            ("hedge", Hedge.Event.hedged(1, after: .zero)), ("hedge", Hedge.Event.won(1, after: .zero)),
            ("hedge", Hedge.Event.budgetExhausted), ("hedge", Hedge.Event.notCopied(.unknownEffects)),
            ("throttle", Throttle.Event.rejected(retryAfter: nil)), ("throttle", Throttle.Event.held(for: .zero)),
            ("throttle", Throttle.Event.holdEnded),
            ("adaptive throttle", AdaptiveThrottle.Event.rejected(0.5)),
            ("adaptive throttle", AdaptiveThrottle.Event.ended),
            ("adaptive throttle", AdaptiveThrottle.Event.began(0.5)),
            ("chaos", Chaos.Event.delayed(.zero)), ("chaos", Chaos.Event.behaved("")), ("chaos", Chaos.Event.leftOut),
            ("chaos", Chaos.Event.failed(.transient, after: .zero)), ("chaos", Chaos.Event.lostAnswer(.uncertain)),
            ("chaos", Chaos.Event.cancelled(after: .zero)), ("chaos", Chaos.Event.limitReached(1)),
            ("chaos", Chaos.Event.turnedOff(.timeIsOver)), ("chaos", Chaos.Event.turnedOn(for: .zero)),
            ("bulkhead", Bulkhead.Event.queued), ("bulkhead", Bulkhead.Event.rejected(.full)),
            ("bulkhead", AdaptiveBulkhead.Event.limitAdapted(from: 1, to: 2)),
            ("bulkhead", Bulkhead.Event.limitChanged(from: 1, to: 2)),
            ("bulkhead", Bulkhead.Event.queueChanged(from: 1, to: 2)),
            ("bulkhead", Bulkhead.Event.sheddingBegan), ("bulkhead", Bulkhead.Event.sheddingEnded),
            ("timeout", Timeout.Event.timedOut(.zero)), ("timeout", Timeout.Event.endedLate(by: .zero)),
            ("fallback", FallbackEvent.fellBack(.transient)), ("fallback", FallbackEvent.failed(.transient, error: "")),
            ("cache", CacheEvent.hit), ("cache", CacheEvent.hitStale), ("cache", CacheEvent.hitFailure),
            ("cache", CacheEvent.missed), ("cache", CacheEvent.loaded(took: .zero)),
            ("cache", CacheEvent.failed(.transient, took: .zero)), ("cache", CacheEvent.fellBack(.transient)),
            ("cache", CacheEvent.evicted(1)),
            ("endpoint pool", EndpointPoolEvent.ejected("a", .byHand, for: .zero)),
            ("endpoint pool", EndpointPoolEvent.notEjected("a", .failureShare(1))),
            ("endpoint pool", EndpointPoolEvent.returned("a")), ("endpoint pool", EndpointPoolEvent.panicEnded),
            ("endpoint pool", EndpointPoolEvent.panicBegan(left: 1, of: 3)),
            ("single flight", SingleFlightEvent.began), ("single flight", SingleFlightEvent.joined(waiting: 2)),
            ("single flight", SingleFlightEvent.abandoned(after: .zero)),
            ("single flight", SingleFlightEvent.endedLate(by: .zero)),
            ("sync queue", SyncEvent.enqueued(1)),
            ("sync queue", SyncEvent.coalesced(id: "", into: "", cancelsOut: false)),
            ("sync queue", SyncEvent.dropped(id: "")), ("sync queue", SyncEvent.attempted(id: "")),
            ("sync queue", SyncEvent.delivered(id: "")),
            ("sync queue", SyncEvent.failed(id: "", failures: 1, error: "")),
            ("sync queue", SyncEvent.died(id: "", error: "")), ("sync queue", SyncEvent.paused(for: .zero)),
            ("sync queue", SyncEvent.offline(error: "")), ("sync queue", SyncEvent.lockedOut),
            ("sync queue", SyncEvent.drained), ("sync queue", SyncEvent.cleared(1)),
            ("sync queue", SyncEvent.revived(1)), ("sync queue", SyncEvent.cancelled(id: "")),
            ("sync queue", SyncEvent.discarded(1)), ("sync queue", SyncEvent.storeFailed(error: "")),
        ]

        private struct Own: PolicyEventDetail {
            let severity: PolicyEventSeverity
            var description: String { "own" }
        }

        @Test("events of other types are written at their severity's level")
        func severities() {
            for severity in PolicyEventSeverity.allCases {
                let event = PolicyEvent(
                    policy: "own", pipeline: nil, time: MonotonicInstant(nanoseconds: 0),
                    detail: Own(severity: severity))
                #expect("\(PolicyLogger.standardLevel(of: event))" == "\(severity)")
            }
        }

        @Test("the guide's table has the level of each event")
        func table() throws {
            let guide = try String(
                contentsOf: repository.appending(
                    path: "Sources/ResilienceObservability/ResilienceObservability.docc/LogsMetricsTracesGuide.md"),
                encoding: .utf8)
            for (policy, detail) in Self.all {
                let event = PolicyEvent(
                    policy: policy, pipeline: nil, time: MonotonicInstant(nanoseconds: 0), detail: detail)
                let level = PolicyLogger.standardLevel(of: event)
                let isThere = guide.split(separator: "\n").contains {
                    $0.hasPrefix("| \(policy) |") && $0.hasSuffix("| `\(level)` |") && $0.contains("`\(detail.kind)`")
                }
                #expect(isThere, "\(policy): \(detail.kind) is \(level)")
            }
        }

        @Test(
            "giving up is logged above debug only if someone can act on it: the call's own line reports the failure"
        )
        func givingUp() {
            let told = RetriesExhausted.Reason.allCases.map { ($0, Retry.Event.gaveUp(attempt: 1, $0).severity) }
            #expect(told.filter { $0.1 == .warning }.map(\.0) == [.retryAfterTooLong, .budgetExhausted])
            #expect(told.filter { $0.1 == .info }.map(\.0) == [.effectUnknown])
            #expect(told.allSatisfy { [.debug, .info, .warning].contains($0.1) })
        }

        private struct Custom: PolicyEventDetail { var description: String { "custom" } }

        @Test("a custom policy's event and a breaker's probe are logged at debug")
        func others() {
            func level(_ detail: some PolicyEventDetail) -> Logger.Level {
                PolicyLogger.standardLevel(
                    of: PolicyEvent(policy: "", pipeline: nil, time: MonotonicInstant(nanoseconds: 0), detail: detail))
            }
            #expect(level(Custom()) == .debug && level(CircuitBreaker.Event.allowed(.halfOpen)) == .debug)
        }
    }
#endif
