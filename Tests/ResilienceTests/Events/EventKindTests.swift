import Foundation
import Resilience
import ResilienceTraffic
import TestSupport
import Testing

/// Event kinds are names in users' dashboards: changing one breaks them.
@Suite struct EventKindTests {
    /// Every event of each policy, in the order of its enum's cases, with its kind.
    private static let kinds: [(owner: String, kinds: [(any PolicyEventDetail, String)])] = [
        (
            "CircuitBreaker",
            [
                (CircuitBreaker.Event.allowed(.closed), "allowed"),
                (CircuitBreaker.Event.failure(1, of: 5), "failure"),
                (CircuitBreaker.Event.opened(5, of: 5, for: .seconds(1)), "opened"),
                (CircuitBreaker.Event.rejected(retryAfter: nil), "rejected"),
                (CircuitBreaker.Event.waiting, "waiting"),
                (CircuitBreaker.Event.halfOpened, "halfOpened"),
                (CircuitBreaker.Event.recovered, "recovered"),
                (CircuitBreaker.Event.reopened(for: nil), "reopened"),
                (CircuitBreaker.Event.breakEnded, "breakEnded"),
                (CircuitBreaker.Event.reset, "reset"),
                (CircuitBreaker.Event.tripped(for: nil), "tripped"),
                (CircuitBreaker.Event.breakEndedByHand(.halfOpen), "breakEndedByHand"),
                (CircuitBreaker.Event.late(.success), "late"),
                (CircuitBreaker.Event.modeChanged(.isolated), "modeChanged"),
                (CircuitBreaker.Event.wouldOpen, "wouldOpen"),
            ]
        ),
        (
            "Retry",
            [
                (Retry.Event.retrying(attempt: 1, of: 2, after: .zero, .transient), "retrying"),
                (Retry.Event.gaveUp(attempt: 1, .attemptsExhausted), "gaveUp"),
            ]
        ),
        (
            "Hedge",
            [
                (Hedge.Event.hedged(1, after: .zero), "hedged"), (Hedge.Event.won(1, after: .zero), "won"),
                (Hedge.Event.budgetExhausted, "budgetExhausted"), (Hedge.Event.notCopied(.runOnce), "notCopied"),
            ]
        ),
        (
            "Throttle",
            [
                (Throttle.Event.rejected(retryAfter: nil), "rejected"), (Throttle.Event.held(for: .zero), "held"),
                (Throttle.Event.holdEnded, "holdEnded"),
            ]
        ),
        (
            "AdaptiveThrottle",
            [
                (AdaptiveThrottle.Event.began(0.5), "began"), (AdaptiveThrottle.Event.rejected(0.5), "rejected"),
                (AdaptiveThrottle.Event.ended, "ended"),
            ]
        ),
        (
            "Bulkhead",
            [
                (Bulkhead.Event.queued, "queued"), (Bulkhead.Event.rejected(.full), "rejected"),
                (Bulkhead.Event.limitChanged(from: 1, to: 2), "limitChanged"),
                (Bulkhead.Event.queueChanged(from: 1, to: 2), "queueChanged"),
                (Bulkhead.Event.sheddingBegan, "sheddingBegan"), (Bulkhead.Event.sheddingEnded, "sheddingEnded"),
            ]
        ),
        ("AdaptiveBulkhead", [(AdaptiveBulkhead.Event.limitAdapted(from: 1, to: 2), "limitAdapted")]),
        (
            "Timeout",
            [(Timeout.Event.timedOut(.zero), "timedOut"), (Timeout.Event.endedLate(by: .zero), "endedLate")]
        ),
        (
            "Chaos",
            [
                (Chaos.Event.failed(.transient, after: .zero), "failed"),
                (Chaos.Event.lostAnswer(.uncertain), "lostAnswer"), (Chaos.Event.delayed(.zero), "delayed"),
                (Chaos.Event.behaved("flush"), "behaved"), (Chaos.Event.cancelled(after: .zero), "cancelled"),
                (Chaos.Event.leftOut, "leftOut"), (Chaos.Event.limitReached(1), "limitReached"),
                (Chaos.Event.turnedOn(for: .zero), "turnedOn"), (Chaos.Event.turnedOff(.turnedOff), "turnedOff"),
            ]
        ),
        (
            "Pipeline",
            [
                (Pipeline.Event.attemptSucceeded(1, took: .zero), "attemptSucceeded"),
                (Pipeline.Event.attemptFailed(1, .transient, took: .zero), "attemptFailed"),
                (Pipeline.Event.succeeded(took: .zero, attempts: 1), "succeeded"),
                (Pipeline.Event.failed(.transient, took: .zero, attempts: 1), "failed"),
                (Pipeline.Event.rejected(took: .zero, attempts: 0), "rejected"),
                (Pipeline.Event.cancelled(took: .zero, attempts: 1), "cancelled"),
            ]
        ),
        (
            "FallbackEvent",
            [(FallbackEvent.fellBack(.transient), "fellBack"), (FallbackEvent.failed(.transient, error: ""), "failed")]
        ),
        (
            "CacheEvent",
            [
                (CacheEvent.hit, "hit"), (CacheEvent.hitStale, "hitStale"), (CacheEvent.hitFailure, "hitFailure"),
                (CacheEvent.missed, "missed"), (CacheEvent.loaded(took: .zero), "loaded"),
                (CacheEvent.failed(.transient, took: .zero), "failed"), (CacheEvent.fellBack(.transient), "fellBack"),
                (CacheEvent.evicted(1), "evicted"),
            ]
        ),
        (
            "EndpointPoolEvent",
            [
                (EndpointPoolEvent.ejected("a", .byHand, for: .zero), "ejected"),
                (EndpointPoolEvent.notEjected("a", .consecutiveFailures(5)), "notEjected"),
                (EndpointPoolEvent.returned("a"), "returned"),
                (EndpointPoolEvent.panicBegan(left: 1, of: 3), "panicBegan"),
                (EndpointPoolEvent.panicEnded, "panicEnded"),
            ]
        ),
        (
            "SingleFlightEvent",
            [
                (SingleFlightEvent.began, "began"), (SingleFlightEvent.joined(waiting: 2), "joined"),
                (SingleFlightEvent.abandoned(after: .zero), "abandoned"),
                (SingleFlightEvent.endedLate(by: .zero), "endedLate"),
            ]
        ),
    ]

    @Test("every event keeps its kind, and no two events of one policy have the same")
    func stable() {
        for (owner, events) in Self.kinds {
            for (event, kind) in events { #expect(event.kind == kind, "\(owner)") }
            #expect(Set(events.map(\.0.kind)).count == events.count, "\(owner)")
        }
    }

    @Test("the list above has every case of a policy's event enum")
    func complete() throws {
        let folders = policyProducts.map { repository.appending(path: "Sources/\($0)") }
        let files = folders.flatMap { folder -> [Any] in
            FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)?.allObjects ?? []
        }
        let enums = try files.compactMap { $0 as? URL }.filter { $0.pathExtension == "swift" }
            .compactMap {
                try String(contentsOf: $0, encoding: .utf8).firstMatch(
                    of: /enum \w+: PolicyEventDetail[^{]*{(?s)(.*?)public var (?:kind|description)/)
            }
            .map { $0.output.1.matches(of: /(?m)^ +case (\w+)/).map { String($0.output.1) } }
        let listed = Self.kinds.map { $0.kinds.map(\.1) }
        #expect(enums.count == listed.count)
        for cases in enums { #expect(listed.contains(cases), "\(cases)") }
    }

    @Test("an event without a kind uses its type's name")
    func byDefault() {
        struct Ring: PolicyEventDetail { var description: String { "ring" } }
        #expect(Ring().kind == "Ring")
    }
}
