import TestSupport
import Testing

@testable import Resilience
@testable import ResilienceTraffic

@Suite struct CacheStateMachineTests {
    private typealias Machine = CacheStateMachine<String, Int>

    private static let lifetime = CacheLifetime(
        freshFor: .nanoseconds(10), staleWhileRevalidate: .nanoseconds(5), staleIfError: .nanoseconds(20))

    private static func at(_ nanoseconds: Int64) -> MonotonicInstant { MonotonicInstant(nanoseconds: nanoseconds) }

    private static func machine(maxCount: Int = 10, maxCost: Int = .max, pause: Int64 = 0) -> Machine {
        Machine(maxCount: maxCount, maxCost: maxCost, pauseAfterError: .nanoseconds(pause))
    }

    /// The value found, in words, for a call that does not load.
    private static func found(_ machine: inout Machine, _ key: String, at now: Int64) -> String {
        switch machine.look(for: key, at: at(now)) {
        case .fresh(let value): return "fresh \(value)"
        case .stale(let value, let load, let end):
            guard let load else { return "stale \(value)" }
            _ = machine.isOver(load, of: key)
            return "stale \(value), to load until \(end.nanoseconds)"
        case .failed: return "failed"
        case .missing(let load):
            _ = machine.isOver(load, of: key)
            return
                "missing\(machine.afterError(key, pausing: false, at: at(now)).map { ", after an error \($0)" } ?? "")"
        }
    }

    /// A load begun by a call that finds nothing, or the load for a stale value.
    private static func begin(_ machine: inout Machine, _ key: String, at now: Int64 = 1_000_000) throws -> Machine.Load
    {
        switch machine.look(for: key, at: at(now)) {
        case .missing(let load): return load
        case .stale(_, let load, _): return try #require(load)
        case .fresh, .failed: throw Outage()
        }
    }

    private static func keys(_ gone: Machine.Gone) -> [String] { gone.entries.map(\.key) }

    private static func store(_ machine: inout Machine, _ key: String, _ value: Int, cost: Int = 1, at now: Int64 = 0)
        -> [String]
    {
        keys(machine.store(value, for: key, cost: cost, lifetime: lifetime, at: at(now)))
    }

    @Test("a value is fresh, then stale during one load, then returned only if a load fails, then unusable")
    func life() throws {
        var machine = Self.machine()
        #expect(Self.found(&machine, "a", at: 0) == "missing")
        let load = try Self.begin(&machine, "a")
        _ = machine.ended(load, of: "a", with: 1, cost: 1, for: Self.lifetime, at: Self.at(100))
        _ = machine.isOver(load, of: "a")
        let expected =
            [
                (100, "fresh 1"), (109, "fresh 1"), (110, "stale 1, to load until 115"),
                (114, "stale 1, to load until 115"),
                (115, "missing, after an error 1"), (129, "missing, after an error 1"), (130, "missing"),
            ] as [(Int64, String)]
        for (now, found) in expected { #expect(Self.found(&machine, "a", at: now) == found, "\(now)") }
        #expect(machine.fresh("a", at: Self.at(109)) == 1 && machine.fresh("a", at: Self.at(110)) == nil)
        #expect(machine.fresh("b", at: Self.at(0)) == nil)
    }

    @Test("above its maximum count the cache evicts keys that nobody asked for again, and never the newest key")
    func count() {
        var machine = Self.machine(maxCount: 2)
        #expect(Self.store(&machine, "a", 1) == [] && Self.store(&machine, "b", 2) == [])
        #expect(Self.found(&machine, "a", at: 1) == "fresh 1")
        #expect(Self.store(&machine, "c", 3) == ["b"])
        #expect(machine.count == 2 && Self.found(&machine, "a", at: 1) == "fresh 1")
        // A replacement needs no extra place.
        #expect(Self.store(&machine, "c", 4) == ["c"] && machine.count == 2)
        var one = Self.machine(maxCount: 1)
        #expect(
            Self.store(&one, "a", 1) == [] && Self.store(&one, "b", 2) == ["a"] && Self.store(&one, "c", 3) == ["b"])
    }

    @Test("a lookup that finds nothing usable does not count as a use of the key")
    func expiredIsNoUse() {
        var machine = Self.machine(maxCount: 2)
        _ = Self.store(&machine, "a", 1, at: 0)
        _ = Self.store(&machine, "b", 2, at: 100)
        #expect(Self.found(&machine, "a", at: 100) == "missing")
        #expect(Self.store(&machine, "c", 3, at: 100) == ["a"])
    }

    @Test("above its maximum cost the cache evicts as many values as needed; a value that alone exceeds it is not kept")
    func cost() {
        var machine = Self.machine(maxCost: 10)
        for (key, cost) in [("a", 4), ("b", 4), ("c", 2)] { #expect(Self.store(&machine, key, 1, cost: cost) == []) }
        #expect(machine.cost == 10)
        #expect(Self.store(&machine, "d", 1, cost: 6) == ["a", "b"] && machine.cost == 8)
        #expect(Self.store(&machine, "c", 1, cost: 11) == ["c"] && machine.cost == 6 && machine.count == 1)
        #expect(Self.store(&machine, "e", 1, cost: 11) == [] && machine.count == 1)
        // A value that grows does not count twice.
        #expect(Self.store(&machine, "d", 1, cost: 10) == ["d"] && machine.cost == 10 && machine.count == 1)
        #expect(Self.store(&machine, "d", 1, cost: -3) == ["d"] && machine.cost == 0)
        var huge = Self.machine()
        for key in ["a", "b"] { _ = Self.store(&huge, key, 1, cost: .max) }
        #expect(huge.cost == .max && huge.count == 1)
    }

    @Test("a value that can never be returned takes no place in the cache")
    func useless() {
        var machine = Self.machine(maxCount: 1)
        _ = Self.store(&machine, "a", 1)
        let gone = machine.store(2, for: "b", cost: 1, lifetime: CacheLifetime(freshFor: .zero), at: Self.at(0))
        #expect(Self.keys(gone) == [] && machine.count == 1 && Self.found(&machine, "a", at: 1) == "fresh 1")
    }

    @Test("an earlier clock reading does not make a value older")
    func order() {
        var machine = Self.machine()
        _ = Self.store(&machine, "a", 1, at: 100)
        _ = Self.store(&machine, "a", 2, at: 50)
        #expect(Self.found(&machine, "a", at: 60) == "fresh 2" && Self.found(&machine, "a", at: 109) == "fresh 2")
    }

    @Test("a load that took too long for a caller also causes a pause, unless the caller had no time left")
    func pauseAfterWait() throws {
        var machine = Self.machine(pause: 7)
        _ = Self.store(&machine, "a", 1)
        #expect(machine.afterError("a", pausing: false, at: Self.at(16)) == 1)
        #expect(Self.found(&machine, "a", at: 16) == "missing, after an error 1")
        #expect(machine.afterError("a", pausing: true, at: Self.at(16)) == 1)
        #expect(Self.found(&machine, "a", at: 22) == "stale 1")
        #expect(Self.found(&machine, "a", at: 23) == "missing, after an error 1")
    }

    @Test(
        "a call that found nothing obeys a wait that another load receives before the call's own load begins",
        arguments: [true, false])
    func settled(hadValue: Bool) throws {
        var machine = Self.machine()
        if hadValue { _ = Self.store(&machine, "a", 1) }
        let load = try Self.begin(&machine, "a", at: 50)
        #expect(machine.settled("a", at: Self.at(50)) == nil)
        _ = machine.ended(
            load, of: "a", with: Outage(), isAnswer: false, isOutage: true, keepingFor: .zero, wait: .nanoseconds(4),
            at: Self.at(51))
        #expect(throws: Outage()) { try machine.settled("a", at: Self.at(54))?.get() }
        #expect(machine.settled("a", at: Self.at(55)) == nil)
        _ = Self.store(&machine, "a", 7, at: 60)
        #expect(try machine.settled("a", at: Self.at(69))?.get() == 7 && machine.settled("a", at: Self.at(70)) == nil)
    }

    @Test("at the clock's first and last instants nothing traps", arguments: [Int64.min, .max, 0])
    func ends(start: Int64) throws {
        for time in [Duration.nanoseconds(1), .infinite] {
            var machine = Machine(maxCount: 2, maxCost: 2, pauseAfterError: time)
            let lifetime = CacheLifetime(freshFor: time, staleWhileRevalidate: time, staleIfError: time)
            _ = machine.store(1, for: "a", cost: 1, lifetime: lifetime, at: Self.at(start))
            for now in [Int64.min, .max, 0] { _ = Self.found(&machine, "a", at: now) }
            let load = try Self.begin(&machine, "b", at: start)
            _ = machine.ended(
                load, of: "a", with: Outage(), isAnswer: false, isOutage: true, keepingFor: time, at: Self.at(start))
            for now in [Int64.min, .max, 0] { _ = Self.found(&machine, "a", at: now) }
        }
    }
}
