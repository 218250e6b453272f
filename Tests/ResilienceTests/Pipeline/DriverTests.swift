import Resilience
import ResilienceTesting
import TestSupport
import Testing

/// What the driver guarantees to every policy.
@Suite(.timeLimit(.minutes(20))) struct DriverTests {
    let journal = Journal()
    let clock = ManualClock()

    @Test("policies are entered from first to last, and exited in reverse")
    func order() async throws {
        let pipeline = Pipeline {
            policy("a"); policy("b")
        }
        try await pipeline.run { journal.note("operation") }
        #expect(journal.lines == ["a in", "b in", "operation", "b out success round 1", "a out success round 1"])
    }

    @Test("an error passes every policy on the way out, and is thrown")
    func error() async {
        let pipeline = Pipeline {
            policy("a"); policy("b")
        }
        await #expect(throws: Outage()) { try await pipeline.run { throw Outage() } }
        #expect(journal.lines.suffix(2) == ["b out transient round 1", "a out transient round 1"])
    }

    @Test("a rejection exits the outer policies, but not the rejecting one")
    func rejection() async {
        let pipeline = Pipeline {
            policy("a"); policy("b", in: [.reject(Outage())]); policy("c")
        }
        await #expect(throws: Outage()) { try await pipeline.run { journal.note("operation") } }
        #expect(journal.lines == ["a in", "b rejects", "a out rejected round 1"])
    }

    @Test("if the wait before a policy's next round is cancelled, the policy is told once, before outer policies exit")
    func abandoned() async {
        let pipeline = Pipeline(timeBase: clock) {
            policy("a"); AskingAgain(journal); policy("c")
        }
        let task = Task { try await pipeline.run { throw Outage() } }
        await clock.waitForSleepers(1)
        task.cancel()
        await #expect(throws: CancelledWhileWaiting.self) { try await task.value }
        #expect(
            journal.lines == [
                "a in", "c in", "c out transient round 1", "again", "abandoned", "a out cancelled round 1",
            ])
    }

    @Test("once another round has begun, it does not count as abandoned, even if a wait on the way in is cancelled")
    func notAbandoned() async {
        let pipeline = Pipeline(timeBase: clock) {
            AskingAgain(journal); policy("c", in: [.proceed, .sleep(.seconds(5))])
        }
        let task = Task { try await pipeline.run { throw Outage() } }
        await clock.waitForSleepers(1)
        clock.advance(by: .seconds(1))
        await clock.waitForSleepers(1)
        task.cancel()
        await #expect(throws: CancelledWhileWaiting.self) { try await task.value }
        #expect(
            journal.lines == [
                "c in", "c out transient round 1", "again", "c sleeps", "c out cancelled round 2", "passed",
            ])
    }

    @Test("a single policy is also told if the wait before its next round is cancelled")
    func abandonedAlone() async {
        let policy = AskingAgain(journal, clock)
        let task = Task { try await policy.run { throw Outage() } }
        await clock.waitForSleepers(1)
        task.cancel()
        await #expect(throws: CancelledWhileWaiting.self) { try await task.value }
        #expect(journal.lines == ["again", "abandoned"])
    }

    @Test("on the way out a policy gets the time at which the operation ended", arguments: [true, false])
    func timeOfTheEnd(isAlone: Bool) async throws {
        let policy = Timing(journal, clock)
        let pipeline = Pipeline(timeBase: clock) {
            policy
            Timing(Journal(), clock)
        }
        func run(_ operation: () async throws -> Void) async throws {
            if isAlone { try await policy.run(operation) } else { try await pipeline.run(operation) }
        }
        try await run { clock.advance(by: .seconds(10)) }
        await #expect(throws: Outage.self) {
            try await run {
                clock.advance(by: .seconds(5))
                throw Outage()
            }
        }
        #expect(journal.lines == ["10 s", "5 s"])
    }

    @Test("a policy that asks a permit's holder for another round is told that no round follows")
    func abandonedByHand() throws {
        try AskingAgain(journal).tryAcquire().complete(.transient)
        #expect(journal.lines == ["again", "abandoned"])
    }

    @Test("a policy that sleeps is asked again at its instant, and keeps its slot")
    func sleeping() async throws {
        let pipeline = Pipeline(timeBase: clock) {
            policy("a"); policy("b", in: [.sleep(.seconds(2)), .proceed])
        }
        async let done: Void = pipeline.run {}
        await clock.waitForSleepers(1)
        #expect(clock.sleepers == [clock.now + .seconds(2)])
        clock.advance(by: .seconds(2))
        try await done
        #expect(
            journal.lines
                == ["a in", "b sleeps", "b in", "b out success round 1", "a out success round 1"])
    }

    @Test("a policy that rejects after a sleep gets no exit")
    func sleepThenRejection() async {
        let sleeper = policy("b", in: [.sleep(.seconds(2)), .reject(Outage())])
        let pipeline = Pipeline(timeBase: RushingClock()) {
            policy("a"); sleeper
        }
        await #expect(throws: Outage()) { try await pipeline.run {} }
        #expect(journal.lines == ["a in", "b sleeps", "b rejects", "a out rejected round 1"])
    }

    @Test("a call cancelled while a policy sleeps exits that policy and the outer policies, and no other policy")
    func cancelledAsleep() async {
        let pipeline = Pipeline(timeBase: clock) {
            policy("a"); policy("b", in: [.sleep(.seconds(2))]); policy("c")
        }
        let task = Task { try await pipeline.run { journal.note("operation") } }
        await clock.waitForSleepers(1)
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(journal.lines == ["a in", "b sleeps", "b out cancelled round 1", "a out cancelled round 1"])
        #expect(clock.sleepers.isEmpty)
    }

    @Test("a parked call continues when its waiter is resumed, even if the resume comes before the wait")
    func parked() async throws {
        let waiter = PolicyWaiter()
        waiter.resume()
        let pipeline = Pipeline { policy("a", in: [.park(waiter), .proceed]) }
        try await pipeline.run {}
        #expect(journal.lines == ["a parks", "a in", "a out success round 1"])
    }

    @Test("a call that is cancelled while parked exits the policy that parked it")
    func cancelledParked() async {
        let clock = ManualClock()
        let pipeline = Pipeline(timeBase: clock) {
            policy("a", in: [.park(PolicyWaiter(), until: clock.now + .seconds(9))]); policy("b")
        }
        let task = Task { try await pipeline.run { journal.note("operation") } }
        await clock.waitForSleepers(1)
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(journal.lines == ["a parks", "a out cancelled round 1"])
    }

    @Test("another round begins at the policy that asked for it, which keeps its slot; outer policies stay entered")
    func again() async throws {
        let pipeline = Pipeline(timeBase: RushingClock()) {
            policy("a"); policy("b", out: [.again(.seconds(1))])
        }
        try await pipeline.run {}
        #expect(
            journal.lines == [
                "a in", "b in", "b out success round 1", "b in", "b out success round 2", "a out success round 1",
            ])
    }

    @Test("if a call is cancelled during the wait for another round, only outer policies get an exit")
    func cancelledBetweenRounds() async {
        let pipeline = Pipeline(timeBase: clock) {
            policy("a"); policy("b", out: [.again(.seconds(1))])
        }
        let task = Task { try await pipeline.run { throw Outage() } }
        await clock.waitForSleepers(1)
        task.cancel()
        await #expect(throws: CancelledWhileWaiting.self) { try await task.value }
        #expect(journal.lines == ["a in", "b in", "b out transient round 1", "a out cancelled round 1"])
    }

    @Test("outer policies and the caller see the error that a policy substitutes")
    func replacing() async {
        let inner = policy("b", out: [.replace(Outage(number: 2), .permanent)])
        let pipeline = Pipeline {
            policy("a"); inner; policy("c")
        }
        await #expect(throws: Outage(number: 2)) { try await pipeline.run { throw Outage() } }
        #expect(
            journal.lines.suffix(3) == [
                "c out transient round 1", "b out transient round 1", "a out permanent round 1",
            ]
        )
    }

    @Test("a policy that replaces a success with an error fails the call")
    func replacingSuccess() async {
        let pipeline = Pipeline { policy("a", out: [.replace(Outage(), .transient)]) }
        await #expect(throws: Outage()) { try await pipeline.run { 1 } }
    }

    @Test("an around policy runs at its place in the order")
    func around() async throws {
        let pipeline = Pipeline {
            policy("a"); PlainAround(journal: journal); policy("b")
        }
        try await pipeline.run {}
        #expect(
            journal.lines
                == ["a in", "around in", "b in", "b out success round 1", "around out", "a out success round 1"])
    }

    @Test("an around policy that throws without running its inside counts as a failure for outer policies")
    func aroundThrows() async {
        let pipeline = Pipeline {
            policy("a"); PlainAround(rejection: Outage()); policy("b")
        }
        await #expect(throws: Outage()) { try await pipeline.run {} }
        #expect(journal.lines == ["a in", "a out transient round 1"])
    }

    @Test("another round of an outer policy runs an around policy and its inside anew, with fresh slots")
    func againOutsideAround() async throws {
        let pipeline = Pipeline(timeBase: RushingClock()) {
            policy("a", out: [.again(.seconds(1))])
            PlainAround()
            policy("b")
        }
        try await pipeline.run {}
        #expect(
            journal.lines.filter { $0.hasPrefix("b") }
                == Array(repeating: ["b in", "b out success round 1"], count: 2).flatMap { $0 })
    }

    private func policy(
        _ name: String, in inward: [ScriptedPolicy.Inward] = [], out outward: [ScriptedPolicy.Outward] = []
    ) -> ScriptedPolicy {
        ScriptedPolicy(name, in: inward, out: outward, journal)
    }
}

/// Asks for another round after every transient failure, and records what follows.
private struct AskingAgain: Policy {
    let journal: Journal
    let timeBase: (any TimeBase)?

    init(_ journal: Journal, _ timeBase: (any TimeBase)? = nil) {
        (self.journal, self.timeBase) = (journal, timeBase)
    }

    func exit(_ call: inout PolicyCall, _ slot: inout PolicySlot, _ outcome: PolicyOutcome) -> PolicyExit {
        journal.note(outcome.verdict == .transient ? "again" : "passed")
        return outcome.verdict == .transient ? .again(at: call.now + .seconds(1)) : .pass
    }

    func abandon(_ call: inout PolicyCall, _ slot: inout PolicySlot) { journal.note("abandoned") }
}

/// Records how long the operation took.
private struct Timing: Policy {
    let journal: Journal
    let timeBase: (any TimeBase)?

    init(_ journal: Journal, _ timeBase: any TimeBase) { (self.journal, self.timeBase) = (journal, timeBase) }

    func enter(_ call: inout PolicyCall, _ slot: inout PolicySlot) -> PolicyEntry {
        slot.first = UInt64(bitPattern: call.now.nanoseconds)
        return .proceed
    }

    func exit(_ call: inout PolicyCall, _ slot: inout PolicySlot, _ outcome: PolicyOutcome) -> PolicyExit {
        let began = MonotonicInstant(nanoseconds: Int64(bitPattern: slot.first))
        journal.note("\(began.duration(to: call.now).components.seconds) s")
        return .pass
    }
}
