import Resilience
import ResilienceFleet
import ResilienceTesting
import TestSupport
import Testing

/// An engine in this process that grants everything, and is away now and then.
private struct GenerousEngine: ScriptEngine {
    let clock: ManualClock
    /// Whether it is away for the second half of each second.
    let isFlaky: Bool

    struct Away: Error {}

    func run(_ script: EngineScript, keys: [String], arguments: [String]) async throws -> [Int64] {
        // A budget asks the engine when it is made, before the contract's run: the answer must not wait for the run's
        // clock.
        if script.name != "budget" { try await clock.sleep(for: .microseconds(300)) }
        if isFlaky, clock.now.nanoseconds % 1_000_000_000 > 500_000_000 { throw Away() }
        return switch script.name {
        case "throttle": [Int64(arguments[8])!, 0, 1, 0, 100_000, 0, 0, 0, 0]
        case "breaker": [0, 0, 0, 0, 1]
        case "bulkhead": [Int64(arguments[2])!, 1]
        default: [Int64(arguments[3])!, 100, 1]
        }
    }
}

/// The policies of a fleet under the contract of all policies, with two exceptions. The link to the fleet sets alarms
/// even when nobody calls. And a throttle that has not asked for an hour rejects calls that can't wait for the answer,
/// such as a permit by hand.
///
/// A bulkhead of a fleet is missing: it has no permits until a task outside the contract's runs has asked.
@Suite(.timeLimit(.minutes(20)), .heavy) struct FleetContractTests {
    private func fleet(_ clock: ManualClock, isFlaky: Bool) -> Fleet {
        Fleet("f", engine: GenerousEngine(clock: clock, isFlaky: isFlaky), timeBase: clock)
    }

    @Test("a fleet's throttle keeps the contract, with or without the engine", arguments: [false, true])
    func throttle(isFlaky: Bool) async {
        await expect { clock in
            Throttle("t", limit: .perSecond(1_000, burst: 50), in: fleet(clock, isFlaky: isFlaky), maxWait: .seconds(1))
        }
        await expect { clock in
            Throttle("t", limit: .slidingWindow(1_000, per: .seconds(10)), in: fleet(clock, isFlaky: isFlaky))
        }
    }

    @Test("a fleet's circuit breaker keeps the contract", arguments: [false, true])
    func breaker(isFlaky: Bool) async {
        await expect { clock in CircuitBreaker("b", in: fleet(clock, isFlaky: isFlaky), openFor: .seconds(1)) }
    }

    @Test("a retry with a fleet's budget keeps the contract", arguments: [false, true])
    func budget(isFlaky: Bool) async {
        await expect { clock in
            Retry(budget: .tokens("r", in: fleet(clock, isFlaky: isFlaky), capacity: 100))
        }
    }

    private func expect<P: Policy>(_ make: @escaping @Sendable (ManualClock) -> P) async {
        let report = await PolicyContract { make($0) }.check(calls: 500)
        let excepted = [
            "alarms are set when nobody waits", "an hour later it lets no call through", "it gives out none",
        ]
        let violations = report.violations.map { "\($0)" }.filter { violation in
            !excepted.contains { violation.contains($0) }
        }
        #expect(violations == [])
    }
}
