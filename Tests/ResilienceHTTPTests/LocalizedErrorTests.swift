import Foundation
import Resilience
import ResilienceTraffic
import ResilienceHTTP
import TestSupport
import Testing

@Suite struct LocalizedErrorTests {
    private static let errors: [any Error] = [
        CircuitOpen(policy: "search", retryAfter: .seconds(42)),
        ThrottleExceeded(policy: "search", retryAfter: .seconds(1)),
        AdaptiveThrottleExceeded(policy: "search", rejection: 0.5),
        NoEndpoint(policy: "search", count: 3, retryAfter: .seconds(7)),
        InjectedFault(policy: "chaos", verdict: .transient),
        BulkheadFull(policy: "search", reason: .full, retryAfter: nil), WouldWait(policy: "search", retryAfter: nil),
        DeadlinePassed(), TimedOut(policy: "search", limit: .seconds(5), underlying: nil),
        RetriesExhausted(
            reason: .attemptsExhausted, lastError: Outage(), verdict: .transient, history: RetryHistory()),
        CancelledWhileWaiting(lastError: Outage(), lastVerdict: .transient), unusableSnapshot(), invalidSettings(),
        HTTPStatusError(status: 503, verdict: .transient),
    ]

    private static func unusableSnapshot() -> any Error {
        let snapshot = CircuitSnapshot(memory: CircuitMemory(state: .open, trips: -1), takenAt: 0)
        return caught { try CircuitBreaker("search").restore(snapshot) }
    }

    private static func invalidSettings() -> any Error {
        caught { _ = try PolicySettings.checked { Bulkhead(limit: 0) } }
    }

    private static func caught(_ body: () throws -> Void) -> any Error {
        do {
            try body()
            return Outage()
        } catch {
            return error
        }
    }

    @Test("an app shows an error's sentence for people (A3)", arguments: errors.map { Shown(error: $0) })
    func texts(shown: Shown) {
        #expect(shown.error.localizedDescription == "\(shown.error)")
    }

    @Test("these tests cover every public error of the core, of traffic and of HTTP")
    func complete() throws {
        let names = Set(Self.errors.map { "\(type(of: $0))" })
        let products = policyProducts + ["ResilienceHTTP"]
        #expect(names == Set(try products.flatMap { try publicErrors(of: $0) }))
    }

    struct Shown: CustomTestStringConvertible, Sendable {
        let error: any Error

        var testDescription: String { "\(type(of: error))" }
    }
}
