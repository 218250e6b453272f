import Resilience
import ResilienceTesting
import TestSupport
import Testing

private enum Noise: PolicyEventDetail, Equatable {
    case made(Int)
    var description: String {
        switch self {
        case .made(let number): "made \(number)"
        }
    }
}

@Suite struct ObserversTests {
    let observers = PolicyObservers()
    let journal = Journal()

    private func send(_ number: Int = 1) {
        observers.send(PolicyEvent(policy: "p", pipeline: nil, time: .second(0), detail: Noise.made(number)))
    }

    private func note(_ name: String) -> @Sendable (PolicyEvent) -> Void {
        { [journal] in journal.note("\(name) \($0.detail)") }
    }

    @Test("all observers get an event, in the order in which they were added")
    func order() {
        for name in ["a", "b", "c"] { observers.add(note(name)) }
        send()
        #expect(journal.lines == ["a made 1", "b made 1", "c made 1"])
    }

    @Test("a removed observer gets no more events, but the other observers do (P30)")
    func removed() {
        observers.add(note("a"))
        let subscription = observers.add(note("b"))
        observers.add(note("c"))
        subscription.cancel()
        send()
        #expect(journal.lines == ["a made 1", "c made 1"])
    }

    @Test("a closure can be the first observer")
    func closure() {
        PolicyObservers(note("only")).send(
            PolicyEvent(policy: "p", pipeline: nil, time: .second(0), detail: Noise.made(1)))
        #expect(journal.lines == ["only made 1"])
    }

    /// Wants events from this severity on.
    private struct Choosy: PolicyObserver {
        let leastSeverity: PolicyEventSeverity
        let journal: Journal
        func receive(_ event: PolicyEvent) {
            journal.note("\(leastSeverity) \(event.policy) \(event.detail)\(event.failure.map { ": \($0)" } ?? "")")
        }
    }

    @Test("each observer gets events from its severity on, and events that no observer wants are not made")
    func severities() async throws {
        let clock = ManualClock()
        let observers = PolicyObservers(Choosy(leastSeverity: .warning, journal: journal))
        let breaker = CircuitBreaker("b", tripping: .consecutiveFailures(1), timeBase: clock)
        let pipeline = Pipeline(timeBase: clock, observers: observers) { breaker }
        let outage = Outage()
        func call(fails: Bool = false) async { try? await pipeline.run { if fails { throw outage } } }
        await call()
        #expect(observers.want(.warning) && !observers.want(.notice) && journal.lines == [])
        let subscription = observers.add(Choosy(leastSeverity: .debug, journal: journal))
        await call()
        #expect(observers.want(.debug) && !observers.want(.trace) && journal.lines == [])
        await call(fails: true)
        #expect(
            journal.lines == [
                "debug call attempt 1 failed after 0 s (transient): Outage", "debug b failure 1/1: Outage",
                "warning b threshold reached (1/1) → open for 60 s: Outage",
                "debug b threshold reached (1/1) → open for 60 s: Outage",
                "debug call failed after 0 s, 1 attempt (transient): Outage",
            ])
        subscription.cancel()
        #expect(!observers.want(.notice))
        observers.add(note("all"))
        breaker.reset()
        await call()
        #expect(
            journal.lines.dropFirst(5) == [
                "all reset → closed", "all closed, allowing call", "all attempt 1 succeeded after 0 s",
                "all succeeded after 0 s, 1 attempt",
            ])
    }

    @Test(
        "an observer gets the same events whether or not another observer wants more events",
        arguments: PolicyEventSeverity.allCases)
    func sameAlone(least: PolicyEventSeverity) async throws {
        func told(beside others: [any PolicyObserver]) async throws -> [String] {
            let (clock, journal) = (ManualClock(), Journal())
            let observers = PolicyObservers(Choosy(leastSeverity: least, journal: journal))
            for other in others { observers.add(other) }
            let pipeline = Pipeline("x", timeBase: clock, observers: observers) {
                CircuitBreaker("b", tripping: .consecutiveFailures(2), timeBase: clock)
            }
            let outage = Outage()
            _ = try? await pipeline.run { throw outage }
            try await pipeline.acquire().complete(.success)
            try await pipeline.acquire().complete(.transient, error: outage)
            try await pipeline.acquire().complete(.transient, error: outage)
            _ = try? await pipeline.run {}
            return journal.lines
        }
        let alone = try await told(beside: [])
        #expect(try await told(beside: [EventRecorder()]) == alone)
        #expect(
            alone.isEmpty == (least == .error) && alone.contains { $0.contains("failed after") } == (least <= .info))
        #expect(
            alone.count { $0.contains("threshold reached") && $0.hasSuffix(": Outage") } == (least <= .warning ? 1 : 0))
    }

    /// Records events, and the ends that its meters count.
    private struct Metering: MeteringObserver {
        let journal: Journal
        func receive(_ event: PolicyEvent) { journal.note("\(event.policy) \(event.detail)") }
        func meter(of pipeline: String) -> any CallMeter { Meter(pipeline: pipeline, journal: journal) }

        struct Meter: CallMeter {
            let pipeline: String
            let journal: Journal
            func count(_ end: some PolicyEventDetail) { journal.note("\(pipeline): \(end)") }
        }
    }

    @Test(
        "a metering observer gets ends only through its meters, one per pipeline; added later, it gets ordinary events")
    func meters() async throws {
        let clock = ManualClock()
        func pipeline(_ name: String, _ observers: PolicyObservers?) -> Pipeline {
            Pipeline(name, timeBase: clock, observers: observers) {
                CircuitBreaker("b", tripping: .consecutiveFailures(1), timeBase: clock)
            }
        }
        let observers = PolicyObservers(Metering(journal: journal))
        for name in ["x", "y"] { try await pipeline(name, observers).run {} }
        let metered = [
            "x: attempt 1 succeeded after 0 s", "x: succeeded after 0 s, 1 attempt", "y: attempt 1 succeeded after 0 s",
            "y: succeeded after 0 s, 1 attempt",
        ]
        #expect(journal.lines == metered)
        let failing = pipeline("z", observers)
        let outage = Outage()
        try? await failing.run { throw outage }
        try? await failing.run {}
        #expect(
            journal.lines.dropFirst(4) == [
                "z: attempt 1 failed after 0 s (transient)", "b failure 1/1",
                "b threshold reached (1/1) → open for 60 s",
                "z: failed after 0 s, 1 attempt (transient)", "b open, rejecting call (retry in 60 s)",
                "z: rejected after 0 s, 0 attempts",
            ])
        let (later, journal) = (pipeline("x", nil), Journal())
        later.observers.add(Metering(journal: journal))
        try await later.acquire().complete(.success)
        #expect(
            journal.lines == [
                "b closed, allowing call", "call attempt 1 succeeded after 0 s", "call succeeded after 0 s, 1 attempt",
            ])
    }

    @Test("other observers beside a metering observer get ends as usual")
    func besideMeters() async throws {
        let observers = PolicyObservers(Metering(journal: Journal()), Choosy(leastSeverity: .trace, journal: journal))
        let pipeline = Pipeline(observers: observers) {}
        let subscription = observers.add(note("late"))
        try await pipeline.run {}
        let told = journal.lines.map { String($0.prefix { $0 != " " }) }
        #expect(told == ["trace", "late", "trace", "late"])
        subscription.cancel()
        try await pipeline.run {}
        #expect(journal.lines.count == 6)
    }

    @Test("removing an observer twice removes no other observer, whether it was given at the start or added later")
    func removedTwice() {
        let observers = PolicyObservers(Noting(note: note("first")), Noting(note: note("second")))
        let subscription = observers.add(note("third"))
        subscription.cancel()
        subscription.cancel()
        observers.send(PolicyEvent(policy: "p", pipeline: nil, time: .second(0), detail: Noise.made(1)))
        #expect(journal.lines == ["first made 1", "second made 1"])
    }

    @Test("a removed observer is released (P30)")
    func leak() {
        weak var watched: EventRecorder?
        do {
            let recorder = EventRecorder()
            watched = recorder
            observers.add(recorder).cancel()
        }
        #expect(watched == nil && observers.isEmpty)
    }

    @Test("a subscription does not keep its observers alive, and does no harm once the observers are released")
    func receipt() {
        var observers: PolicyObservers? = PolicyObservers()
        weak let watched = observers
        let subscription = observers?.add(note("a"))
        observers = nil
        #expect(watched == nil)
        subscription?.cancel()
    }

    @Test(
        "an observer may add another during delivery: no deadlock, and the new observer does not get that event (P30)"
    )
    func addsDuringDelivery() {
        observers.add { [observers, journal] event in
            journal.note("adder \(event.detail)")
            observers.add { journal.note("added \($0.detail)") }
        }
        send(1)
        #expect(journal.lines == ["adder made 1"])
        send(2)
        #expect(journal.lines == ["adder made 1", "adder made 2", "added made 2"])
    }

    @Test("an observer may remove itself and others during delivery, and send its own event")
    func removesDuringDelivery() {
        let subscription = Box<PolicyObservers.Subscription?>(nil)
        let own = observers.add { [observers, journal] event in
            journal.note("own \(event.detail)")
            subscription.exchange(nil)?.cancel()
            observers.send(PolicyEvent(policy: "p", pipeline: nil, time: .second(0), detail: Noise.made(2)))
        }
        subscription.value = own
        observers.add(note("other"))
        send(1)
        #expect(journal.lines == ["own made 1", "other made 2", "other made 1"])
    }

    @Test("a removed observer's deinit may use the observers, without deadlock (P38)")
    func deinitUses() {
        final class Leaver: PolicyObserver {
            let leave: @Sendable () -> Void
            init(_ leave: @escaping @Sendable () -> Void) { self.leave = leave }
            func receive(_ event: PolicyEvent) {}
            deinit { leave() }
        }
        let subscription = observers.add(Leaver { [observers, journal] in journal.note("empty: \(observers.isEmpty)") })
        subscription.cancel()
        #expect(journal.lines == ["empty: true"])
    }

    @Test("without observers no event is made (A12)")
    func nobody() async throws {
        let clock = ManualClock()
        struct Loud: Policy {
            let made: Journal
            let observers: PolicyObservers
            func enter(_ call: inout PolicyCall, _ slot: inout PolicySlot) -> PolicyEntry {
                func event() -> any PolicyEventDetail {
                    made.note("made")
                    return Noise.made(1)
                }
                call.emit(event(), from: name, to: observers)
                return .proceed
            }
        }
        let loud = Loud(made: journal, observers: observers)
        try await Pipeline(timeBase: clock) { loud }.run {}
        #expect(journal.lines.isEmpty)
        let subscription = observers.add { _ in }
        try await Pipeline(timeBase: clock) { loud }.run {}
        subscription.cancel()
        try await Pipeline(timeBase: clock) { loud }.run {}
        #expect(journal.lines == ["made"])
    }

    @Test("while observers come and go on many tasks, no remaining observer loses an event")
    func concurrent() async {
        let told = Journal()
        observers.add { _ in told.note("told") }
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<4 {
                group.addTask { for _ in 0..<500 { observers.add { _ in }.cancel() } }
                group.addTask { for number in 0..<500 { send(number) } }
            }
        }
        #expect(told.lines.count == 2000)
        #expect(!observers.isEmpty)
    }

    @Test("an event's description is one line with its pipeline, if any, and its policy")
    func description() {
        let byHand = PolicyEvent(policy: "retry", pipeline: nil, time: .second(0), detail: Noise.made(1))
        let inPipeline = PolicyEvent(policy: "retry", pipeline: "sync", time: .second(0), detail: Noise.made(1))
        #expect("\(byHand)" == "[retry] made 1" && "\(inPipeline)" == "[sync/retry] made 1")
    }
}

private struct Noting: PolicyObserver {
    let note: @Sendable (PolicyEvent) -> Void

    func receive(_ event: PolicyEvent) { note(event) }
}
