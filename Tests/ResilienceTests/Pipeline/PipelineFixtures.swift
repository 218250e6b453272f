import Resilience
import TestSupport

/// Answers as scripted; after the script, proceeds and passes. Records every step, and whether each entry got one exit.
final class ScriptedPolicy: Policy {
    enum Inward: Sendable {
        case proceed
        case reject(any Error)
        case sleep(Duration)
        case park(PolicyWaiter, until: MonotonicInstant = .distantFuture)
    }

    enum Outward: Sendable {
        case pass
        case again(Duration)
        case replace(any Error, Verdict)
    }

    private struct State {
        var inward: [Inward]
        var outward: [Outward]
        var owed = 0
        var mistakes: [String] = []
    }

    let name: String
    private let journal: Journal?
    private let state: Locked<State>

    init(_ name: String, in inward: [Inward] = [], out outward: [Outward] = [], _ journal: Journal? = nil) {
        self.name = name
        self.journal = journal
        state = Locked(State(inward: inward, outward: outward))
    }

    /// Entries without an exit so far.
    var owed: Int { state.withLock { $0.owed } }
    /// Steps that violate the contract.
    var mistakes: [String] { state.withLock { $0.mistakes } }

    // The slot's words: the call's position (0 outside, 1 waiting, 2 inside), and the number of rounds.
    func enter(_ call: inout PolicyCall, _ slot: inout PolicySlot) -> PolicyEntry {
        let (stood, answer) = (slot.first, state.withLock { $0.inward.isEmpty ? .proceed : $0.inward.removeFirst() })
        if stood == 0 { slot.second += 1 }
        state.withLock { state in
            if stood == 2 { state.mistakes.append("\(name) entered twice") }
            if stood == 0 { state.owed += 1 }
        }
        switch answer {
        case .proceed:
            journal?.note("\(name) in")
            slot.first = 2
            return .proceed
        case .reject(let error):
            journal?.note("\(name) rejects")
            state.withLock { $0.owed -= 1 }
            slot.first = 0
            return .reject(error)
        case .sleep(let length):
            journal?.note("\(name) sleeps")
            slot.first = 1
            return .sleep(until: call.now + length)
        case .park(let waiter, let instant):
            journal?.note("\(name) parks")
            slot.first = 1
            return .park(waiter, until: instant)
        }
    }

    func exit(_ call: inout PolicyCall, _ slot: inout PolicySlot, _ outcome: PolicyOutcome) -> PolicyExit {
        let answer: Outward = state.withLock { state in
            if slot.first == 0 { state.mistakes.append("\(name) left without being inside") }
            state.owed -= 1
            return state.outward.isEmpty ? .pass : state.outward.removeFirst()
        }
        journal?.note("\(name) out \(outcome.verdict) round \(slot.second)")
        slot.first = 0
        switch answer {
        case .pass: return .pass
        case .again(let wait): return .again(at: call.now + wait)
        case .replace(let error, let verdict): return .replace(error, as: verdict)
        }
    }

    func abandon(_ call: inout PolicyCall, _ slot: inout PolicySlot) {
        guard slot.first != 0 else { return }
        state.withLock { $0.mistakes.append("\(name) abandoned, and owed an exit") }
    }
}

/// Runs the inside unchanged, or not at all.
struct PlainAround: AroundPolicy {
    var name = "around"
    var journal: Journal?
    var rejection: Outage?

    func around(
        _ call: inout PolicyCall, isolation: isolated (any Actor)?,
        _ inside: nonisolated(nonsending) (_ deadline: MonotonicInstant) async throws -> Verdict
    ) async throws -> Verdict {
        journal?.note("\(name) in")
        defer { journal?.note("\(name) out") }
        if let rejection { throw rejection }
        return try await inside(call.deadline)
    }
}

/// Runs the inside guarded by a breaker that is not itself in the pipeline.
struct AroundBreaker: AroundPolicy, CircuitBreakerOwner {
    let breaker: CircuitBreaker
    var circuitBreakers: [CircuitBreaker] { [breaker] }

    func around(
        _ call: inout PolicyCall, isolation: isolated (any Actor)?,
        _ inside: nonisolated(nonsending) (_ deadline: MonotonicInstant) async throws -> Verdict
    ) async throws -> Verdict {
        let deadline = call.deadline
        return try await breaker.run { try await inside(deadline) }
    }
}

/// A clock on which no wait takes time: an alarm advances it and fires at once.
final class RushingClock: TimeBase {
    private let reading = Locked(MonotonicInstant(nanoseconds: 1))

    var now: MonotonicInstant { reading.withLock { $0 } }

    func schedule(at deadline: MonotonicInstant, _ action: @escaping @Sendable () -> Void) -> TimeBaseAlarm {
        reading.withLock { $0 = max($0, deadline) }
        action()
        return TimeBaseAlarm(id: 0)
    }

    func cancel(_ alarm: TimeBaseAlarm) {}
}
