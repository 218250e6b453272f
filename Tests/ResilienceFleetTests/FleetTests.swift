import ResilienceTesting
import TestSupport
import Testing

@testable import Resilience
@testable import ResilienceFleet

/// A fleet's events about its engine, and the loop of its links.
@Suite struct FleetTests {
    private struct Away: Error {}

    /// Answers while it is up.
    private final class SwitchedEngine: ScriptEngine {
        let isUp = Locked(true)
        let asked = Locked(0)

        func run(_ script: EngineScript, keys: [String], arguments: [String]) async throws -> [Int64] {
            asked.withLock { $0 += 1 }
            guard isUp.withLock({ $0 }) else { throw Away() }
            return [7]
        }
    }

    @Test("each outage is reported once, from its first failure to the first answer after it")
    func outages() throws {
        let (clock, engine) = (ManualClock(), SwitchedEngine())
        let told = Locked<[Fleet.Event]>([])
        let observers = PolicyObservers { event in
            if let event = event.detail as? Fleet.Event { told.withLock { $0.append(event) } }
        }
        let fleet = Fleet("f", engine: engine, timeBase: clock, observers: observers)
        try clock.run { () async throws in
            for _ in 0..<2 {
                engine.isUp.withLock { $0 = false }
                for _ in 0..<10 {
                    await #expect(throws: (any Error).self) {
                        try await fleet.run(.budget, key: "k", arguments: []) { $0.first }
                    }
                    #expect(fleet.isAway)
                    try await clock.sleep(for: .milliseconds(500))
                }
                engine.isUp.withLock { $0 = true }
                try await clock.sleep(for: .seconds(1))
                #expect(try await fleet.run(.budget, key: "k", arguments: []) { $0.first } == 7)
                #expect(!fleet.isAway)
            }
        }
        let away = Fleet.Event.away(reason: "Away()")
        let back = Fleet.Event.back(after: .seconds(6))
        #expect(told.withLock { $0 } == [away, back, away, back])
        // After three failures the fleet asks once per second.
        #expect(engine.asked.withLock { $0 } < 20)
    }

    @Test("a removed policy notifies a reachable engine, and sends nothing to an engine that is away")
    func leave() throws {
        let (clock, engine) = (ManualClock(), SwitchedEngine())
        let fleet = Fleet("f", engine: engine, timeBase: clock)
        try clock.run { () async throws in
            for isUp in [true, false, true] {
                engine.isUp.withLock { $0 = isUp }
                try await clock.sleep(for: .seconds(1))
                _ = try? await fleet.run(.budget, key: "k", arguments: []) { $0.first }
                let asked = engine.asked.withLock { $0 }
                fleet.leave(.budget, key: "k", arguments: [])
                try await clock.sleep(for: .seconds(1))
                #expect(engine.asked.withLock { $0 } == asked + (isUp ? 1 : 0))
            }
        }
    }

    @Test("each time an engine loses a hold, it gets the hold again")
    func lostHold() throws {
        var machine = LeaseStateMachine(lease: .milliseconds(100))
        for round in 0..<2 as Range<Int64> {
            let now = MonotonicInstant(nanoseconds: round * 100_000_000_000)
            let hold = PermitReport.Hold.until(now + .seconds(10), counts: true)
            var report = PermitReport()
            (report.hold, report.heldUntil) = (hold, now + .seconds(10))
            guard case .ask(let first) = machine.step(report, at: now) else { throw Away() }
            let held = try #require(LeaseAnswer([0, 10_000_000, 1, 0, 100_000, 1, 1, 5, 0], to: first))
            #expect(machine.answered(held, to: first, at: now).gate == .held(until: now + .seconds(10)))
            (report.hold, report.missed) = (nil, 1)
            let later = now + .seconds(5)
            guard case .ask(let second) = machine.step(report, at: later) else { throw Away() }
            let empty = try #require(LeaseAnswer([0, 0, 1, 0, 100_000, 0, 0, 0, 0], to: second))
            #expect(machine.answered(empty, to: second, at: later).gate == nil)
            guard case .ask(let third) = machine.step(report, at: later) else { throw Away() }
            #expect(third.hold == hold)
            _ = machine.answered(
                try #require(LeaseAnswer([0, 0, 1, 0, 100_000, 0, 0, 6, 0], to: third)), to: third, at: later)
        }
    }

    @Test("a hold that ended while the engine was away holds nobody once it is back, even after the second outage")
    func holdIsOver() throws {
        var machine = LeaseStateMachine(lease: .milliseconds(100))
        var random = SeededGenerator(seed: 1)
        for round in 0..<2 as Range<Int64> {
            let now = MonotonicInstant(nanoseconds: round * 100_000_000_000)
            var report = PermitReport()
            (report.hold, report.heldUntil) = (.until(now + .seconds(1), counts: true), now + .seconds(1))
            guard case .ask(let first) = machine.step(report, at: now) else { throw Away() }
            machine.failed(first, retryAfter: nil, at: now, using: &random)
            let later = now + .seconds(20)
            guard case .ask(let second) = machine.step(PermitReport(), at: later) else { throw Away() }
            #expect(second.hold == nil)
            let open = try #require(LeaseAnswer([0, 0, 1, 0, 100_000, 0, 0, 0, 0], to: second))
            #expect(machine.answered(open, to: second, at: later).gate == .open)
        }
    }

    @Test("an unreadable answer counts as no answer")
    func unreadable() async {
        let fleet = Fleet("f", engine: SwitchedEngine())
        await #expect(throws: (any Error).self) {
            try await fleet.run(.budget, key: "k", arguments: []) { _ -> Int? in nil }
        }
        #expect(fleet.isAway)
    }

    @Test(
        "a limit is divided by its own number of members; if that is unknown, by the fleet's number, then by the expected number"
    )
    func divisor() {
        let fleet = Fleet("f", engine: SwitchedEngine(), expectedMembers: 3)
        #expect(fleet.divisor(known: nil) == 3)
        #expect(fleet.divisor(known: 5) == 5)
        fleet.note(members: 8)
        #expect(fleet.divisor(known: nil) == 8)
        #expect(fleet.divisor(known: 5) == 5)
        #expect(fleet.divisor(known: 2) == 3)
    }

    @Test("a higher number of members counts at once; a lower one only after a hundred leases without a higher one")
    func knownMembers() {
        var members = Fleet.KnownMembers()
        let (lease, start) = (Duration.milliseconds(100), MonotonicInstant(nanoseconds: 0))
        for (told, seconds, known) in [(3, 0, 3), (1, 9, 3), (5, 9, 5), (1, 18, 5), (1, 19, 1), (2, 20, 2), (1, 21, 2)]
        {
            members.learn(told, lease: lease, at: start + .seconds(seconds))
            #expect(members.count == known, "after \(seconds) s")
        }
    }

    @Test("keys of long names are short, and differ; two policies of one process are two members")
    func keys() {
        let fleet = Fleet("f", engine: SwitchedEngine())
        let long = String(repeating: "x", count: 300)
        let keys = [fleet.key("a", long + "1"), fleet.key("a", long + "2"), fleet.key("b", long + "1")]
        #expect(Set(keys).count == 3 && keys.allSatisfy { $0.utf8.count < 200 })
        #expect(fleet.key("a", "short") == "f:a:short")
        #expect(fleet.makeMember() != fleet.makeMember())
    }

    /// Follows a script of steps, and rings during some of them.
    private final class Link: FleetLink {
        let loop: FleetLoop
        private let state: Locked<(steps: Int, script: [(rings: Bool, next: FleetLoop.Next)])>

        init(_ clock: ManualClock, _ script: [(rings: Bool, next: FleetLoop.Next)]) {
            loop = FleetLoop(on: clock)
            state = Locked((0, script))
            loop.works(for: self)
        }

        var steps: Int { state.withLock { $0.steps } }

        func step() async -> FleetLoop.Next {
            let (rings, next) = state.withLock { state in
                defer { state.steps += 1 }
                return state.steps < state.script.count ? state.script[state.steps] : (false, .whenRung)
            }
            if rings { loop.ring() }
            return next
        }
    }

    @Test("a ring during a step causes another step, whatever the step returned", arguments: [false, true])
    func ringDuringAStep(rests: Bool) throws {
        let clock = ManualClock()
        let next = rests ? FleetLoop.Next.at(clock.now + .seconds(3_600)) : .whenRung
        // Only twice: a handled ring is not repeated.
        let link = Link(clock, [(true, next), (true, next), (false, next)])
        try clock.run { () async throws in
            link.loop.ring()
            try await clock.sleep(for: .seconds(1))
            #expect(link.steps == 3)
            link.loop.ring()
            try await clock.sleep(for: .seconds(1))
            #expect(link.steps == 4)
        }
    }

    @Test("a loop rests until its time; while the loop ignores rings, only urgent ones wake it")
    func rest() throws {
        let clock = ManualClock()
        let start = clock.now
        let link = Link(clock, [(false, .at(start + .seconds(10))), (false, .now)])
        try clock.run { () async throws in
            link.loop.ring()
            try await clock.sleep(for: .seconds(9))
            #expect(link.steps == 1)
            try await clock.sleep(for: .seconds(2))
            #expect(link.steps == 3)
            link.loop.isDeaf(until: start + .seconds(20))
            link.loop.ring(isUrgent: false)
            try await clock.sleep(for: .seconds(1))
            #expect(link.steps == 3)
            link.loop.ring(isUrgent: true)
            try await clock.sleep(for: .seconds(1))
            #expect(link.steps == 4)
            try await clock.sleep(for: .seconds(10))
            link.loop.ring(isUrgent: false)
            try await clock.sleep(for: .seconds(1))
            #expect(link.steps == 5)
        }
    }
}
