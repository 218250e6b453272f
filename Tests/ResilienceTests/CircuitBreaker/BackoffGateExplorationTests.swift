import ResilienceTesting
import TestSupport
import Testing

@testable import Resilience

/// A gate compared with its whole event history, from which the expected state is recomputed each time.
private struct RecordedGate: ExplorableMachine {
    enum Input: Hashable {
        case admit
        /// A call that was just admitted ends.
        case end(Verdict)
        /// A long call begins, or ends.
        case beginLong
        case endLong(Verdict)
        case wait(Int64)
        case reset(keepingGrowth: Bool)
        case endBreak
    }

    private enum Event {
        /// A call ended while the gate was open. Ends while it is shut do not count.
        case ended(Verdict)
        /// A call ended, and its volley was already counted.
        case endedToo(Verdict)
        case tripped(until: MonotonicInstant)
        /// A call came after the break was over.
        case opened
        case reset(keepingGrowth: Bool)
    }

    private(set) var machine: BackoffGate
    private let limit: Int
    private let openFor: GrowingBreak
    private let waits: [Int64]
    private var events: [Event] = []
    private var now: MonotonicInstant
    /// Calls in flight: the ticket of each, and the number of events when it was admitted.
    private var long: [Long] = []

    private struct Long: Hashable {
        let ticket: UInt64
        let before: Int
    }

    init(limit: Int, base: Int64 = 1, cap: Int64 = 6, start: Int64 = 0, waits: [Int64] = [1]) {
        openFor = .exponential(from: .nanoseconds(base), maxMultiplier: 4, cap: .nanoseconds(cap))
        machine = BackoffGate(tripping: .consecutiveThrottles(limit), openFor: openFor)
        self.limit = limit
        self.waits = waits
        now = MonotonicInstant(nanoseconds: start)
    }

    var inputs: [Input] {
        waits.map { .wait($0) } + [
            .admit, .end(.success), .end(.throttled), .end(.transient), .reset(keepingGrowth: true),
            .reset(keepingGrowth: false), .endBreak,
        ] + (long.count < 3 ? [.beginLong] : [])
            + (long.isEmpty ? [] : [.endLong(.throttled), .endLong(.success), .endLong(.transient)])
    }

    /// Beyond the failure limit, or beyond the trips that lead to the longest break, only the counts differ.
    var identity: [Int64]? {
        snapshot + [
            Int64(min(failures, limit + 1)), Int64(min(trips, 4)), left(shutUntil), hasFailed ? 1 : 0,
            Int64(max(-4, min(history.late, 2))),
        ] + long.map { isTold($0) ? 2 : 1 }
    }

    private var snapshot: [Int64] {
        let failures = min(machine.status(at: now).failureCount, limit + 1)
        return [Int64(failures), Int64(min(machine.trips, 4)), left(machine.shutUntil)]
    }

    private func left(_ instant: MonotonicInstant?) -> Int64 {
        guard let instant else { return -1 }
        return max(0, Int64(clamping: Int128(instant.nanoseconds) - Int128(now.nanoseconds)))
    }

    // MARK: The rules

    private var failures: Int { history.failures }

    /// Failures in a row; and, for calls of the same volley as the last failure, successes minus failures.
    private var history: (failures: Int, late: Int) {
        var (failures, late) = (0, 0)
        for event in events {
            switch event {
            case .ended(.throttled): (failures, late) = (late > 0 ? 1 : failures + 1, 0)
            case .ended(.success), .reset: (failures, late) = (0, 0)
            case .endedToo(.success): late += 1
            case .endedToo(.throttled): late -= 1
            default: continue
            }
        }
        return (failures, late)
    }

    /// Trips in a row, without a success in between.
    private var trips: Int {
        var count = 0
        for event in events.reversed() {
            switch event {
            case .tripped: count += 1
            case .ended(.success), .reset(keepingGrowth: false): return count
            default: continue
            }
        }
        return count
    }

    private var shutUntil: MonotonicInstant? {
        for event in events.reversed() {
            switch event {
            case .tripped(let until): return until
            case .opened, .reset: return nil
            case .ended, .endedToo: continue
            }
        }
        return nil
    }

    /// Whether a failure was counted since the last success.
    private var hasFailed: Bool {
        for event in events.reversed() {
            switch event {
            case .ended(.throttled): return true
            case .ended(.success), .reset: return false
            default: continue
            }
        }
        return false
    }

    /// Whether this call's volley was already counted: since its admission a failure was counted, and no success
    /// followed.
    private func isTold(_ call: Long) -> Bool {
        for event in events[call.before...].reversed() {
            switch event {
            case .ended(.throttled): return true
            case .ended(.success), .reset: return false
            default: continue
            }
        }
        return false
    }

    private var isShut: Bool { shutUntil.map { now < $0 } ?? false }

    mutating func apply(_ input: Input) throws {
        switch input {
        case .wait(let length):
            now = MonotonicInstant(nanoseconds: Int64(clamping: Int128(now.nanoseconds) + Int128(length)))
        case .reset(let keepingGrowth):
            machine.reset(keepingGrowth: keepingGrowth)
            events.append(.reset(keepingGrowth: keepingGrowth))
        case .endBreak:
            try require(machine.endBreak(at: now), is: isShut, "whether a break was ended")
            if shutUntil != nil { events.append(.opened) }
        case .admit: _ = try admit()
        case .end(let verdict):
            // If the gate is shut, the call was admitted earlier.
            try end(shutUntil == nil ? admit() ?? 0 : 0, verdict, isTold: false)
        case .beginLong:
            guard let ticket = try admit() else { break }
            long.append(Long(ticket: ticket, before: events.count))
        case .endLong(let verdict):
            guard !long.isEmpty else { break }
            let call = long.removeFirst()
            try end(call.ticket, verdict, isTold: isTold(call))
        }
        try check()
    }

    /// - Returns: The ticket; nil if the call is rejected.
    private mutating func admit() throws -> UInt64? {
        let answer = machine.admit(at: now)
        if isShut {
            try require(answer, is: .reject(retryAfter: .nanoseconds(left(shutUntil))))
            return nil
        }
        if shutUntil != nil { events.append(.opened) }
        guard case .allow(let ticket) = answer else { throw Unexpected(answer) }
        // A call that need not ask has no ticket.
        if !hasFailed { try require(ticket, is: 0, "the ticket") }
        try require(machine.needs.contains(.admissions), is: hasFailed, "whether calls must ask")
        return ticket
    }

    private mutating func end(_ ticket: UInt64, _ verdict: Verdict, isTold: Bool) throws {
        let isCounted = machine.record(verdict, ticket: ticket, at: now)
        let counts = shutUntil == nil && verdict == .throttled && !isTold
        try require(isCounted, is: counts, "whether it is counted")
        guard shutUntil == nil else { return }
        events.append(isTold ? .endedToo(verdict) : .ended(verdict))
        if counts, failures >= limit { trip() }
    }

    private struct Unexpected: Error {
        let answer: CircuitAdmission
        init(_ answer: CircuitAdmission) { self.answer = answer }
    }

    private mutating func trip() {
        var length = Int128(openFor.base.saturatedNanoseconds)
        for _ in 0..<min(trips, 2) { length *= 2 }
        length = min(length, Int128(openFor.cap.saturatedNanoseconds))
        events.append(.tripped(until: MonotonicInstant(nanoseconds: Int64(clamping: Int128(now.nanoseconds) + length))))
    }

    private func check() throws {
        try require(machine.state, is: shutUntil == nil ? .closed : .open, "the state")
        let expected = CircuitBreakerStatus(
            state: isShut ? .open : .closed, failureCount: failures, failureLimit: limit,
            timeRemaining: isShut ? .nanoseconds(left(shutUntil)) : nil)
        try require(machine.status(at: now), is: expected, "the status")

        // The next call must get the answer that the status shows.
        var asked = machine
        let answer = asked.admit(at: now)
        if case .allow = answer { try require(true, is: expected.isAllowed, "whether a call is let in") }
        if case .reject(let retryAfter) = answer { try require(retryAfter, is: expected.timeRemaining, "the wait") }

        // The gate is at rest only if it is open and a success would change nothing.
        try require(machine.isAtRest, is: shutUntil == nil && failures == 0 && trips == 0, "at rest")
        if shutUntil == nil {
            var well = self
            guard case .allow(let ticket) = answer else { throw Unexpected(answer) }
            well.machine.record(.success, ticket: ticket, at: now)
            try require(well.snapshot == snapshot, is: machine.isAtRest, "whether a success changes nothing")
        }
    }
}

@Suite(.heavy) struct BackoffGateExplorationTests {
    @Test("in every reachable state, a gate matches its whole history", arguments: [1, 2, 3])
    func complete(limit: Int) throws {
        let exploration = try Explorer(RecordedGate(limit: limit), code: "RecordedGate(limit: \(limit))").explore()
        #expect(exploration.isComplete && exploration.transitions > 200, "\(exploration)")
    }

    @Test("as far as the effort allows, a gate with long breaks matches its whole history")
    func far() throws {
        let explorer = Explorer(
            RecordedGate(limit: 40, base: 100_000, cap: 390_000, waits: [1, 1_000]),
            code: "RecordedGate(limit: 40, base: 100_000, cap: 390_000, waits: [1, 1_000])")
        #expect(try explorer.explore(transitionsPerEffort: 10_000).transitions >= 10_000)
    }

    @Test(
        "over thousands of inputs, and at the ends of time, a gate matches its whole history",
        arguments: [(0, 1_000), (.min, .max / 4), (.max - 50, 7), (.max, 1)] as [(Int64, Int64)])
    func walks(start: Int64, wait: Int64) throws {
        let explorer = Explorer(
            RecordedGate(limit: 3, base: wait, cap: .max, start: start, waits: [0, 1, wait]),
            code: "RecordedGate(limit: 3, base: \(wait), cap: .max, start: \(start), waits: [0, 1, \(wait)])")
        try explorer.exploreRandomly(length: 3_000, seed: 3)
    }
}
