import Foundation
import Resilience
import ResilienceTesting

/// A breaker's stored snapshot: the breaker rejects it and changes nothing, or continues from it.
package enum CircuitSnapshotOracle {
    /// - Parameter input: JSON.
    /// - Returns: Whether a breaker of some kind continued from it.
    package static func check(_ input: [UInt8]) throws -> Bool {
        guard let snapshot = try? JSONDecoder().decode(CircuitSnapshot.self, from: Data(input)) else { return false }
        var isTaken = false
        for age in [Int64.min, 0, 1_500, .max] {
            let (wallClock, overflow) = snapshot.takenAt.addingReportingOverflow(age)
            for make in kinds { isTaken = try check(snapshot, at: overflow ? .max : wallClock, make) || isTaken }
        }
        return isTaken
    }

    private static let kinds: [@Sendable (ManualClock) -> CircuitBreaker] = [
        { CircuitBreaker(timeBase: $0) },
        { CircuitBreaker(tripping: .failureRatio(0.5, over: .calls(70)), timeBase: $0) },
        { CircuitBreaker(tripping: .failures(3, over: .time(.seconds(10))), openFor: .exponential(), timeBase: $0) },
        { CircuitBreaker(tripping: .slowCalls(0.5, longerThan: .seconds(1)), timeBase: $0) },
        { CircuitBreaker(tripping: .anyOf(.consecutiveFailures(2), .failureRatio(0.5)), timeBase: $0) },
        { CircuitBreaker(circuit: BackoffGate(), timeBase: $0) },
    ]

    /// A status without times, because two processes do not share a clock.
    private static func timeless(_ status: CircuitBreakerStatus) -> CircuitBreakerStatus {
        CircuitBreakerStatus(
            state: status.state, failureCount: status.failureCount, failureLimit: status.failureLimit,
            callCount: status.callCount, timeRemaining: status.timeRemaining, isAllowed: status.isAllowed,
            mode: status.mode)
    }

    private static func check(
        _ snapshot: CircuitSnapshot, at wallClock: Int64, _ make: (ManualClock) -> CircuitBreaker
    ) throws -> Bool {
        let clock = ManualClock()
        let breaker = make(clock)
        let before = (breaker.status, breaker.snapshot(wallClock: 0))
        do {
            try breaker.restore(snapshot, wallClock: wallClock)
        } catch {
            try expect(
                breaker.status == before.0 && breaker.snapshot(wallClock: 0) == before.1, "rejected, but changed")
            return false
        }
        let status = breaker.status
        try expect(status.mode == snapshot.mode, "in mode \(status.mode), not \(snapshot.mode)")
        try expect(status.failureCount >= 0 && status.callCount ?? 0 >= 0, "counts \(status)")
        let remaining = status.timeRemaining ?? .zero
        try expect(remaining >= .zero && remaining <= snapshot.memory.remaining, "\(remaining) remain")
        try expect(remaining <= .seconds(300), "\(remaining) remain, more than any of these breaks")
        if snapshot.mode == .automatic {
            try expect(
                snapshot.memory.state == .closed || status.state != .closed || remaining == .zero, "it has closed")
        }

        // The breaker's own snapshot must bring another breaker to the same state.
        let stored = try JSONEncoder().encode(breaker.snapshot(wallClock: 0))
        let other = make(clock)
        try other.restore(JSONDecoder().decode(CircuitSnapshot.self, from: stored), wallClock: 0)
        try expect(
            timeless(other.status) == timeless(status), "stored and restored it is \(other.status), not \(status)")

        // The breaker must be usable after any snapshot.
        for verdict in [Verdict.success, .transient, .throttled] { try? breaker.tryAcquire().complete(verdict) }
        clock.advance(by: .seconds(Int64.max))
        for verdict in [Verdict.success, .transient, .throttled] { try? breaker.tryAcquire().complete(verdict) }
        breaker.reset()
        try expect(breaker.mode == .isolated || breaker.status.isAllowed, "no call gets through after a reset")
        return true
    }
}
