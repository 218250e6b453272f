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

    /// What there is, in words, for a call that does not load.
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

    /// A load that a call begins which finds nothing, or the one for a stale value.
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

    @Test("a value is fresh, then stale while one load is made, then returned only if that fails, then of no use")
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

    @Test("a stale value is loaded once at a time: while any call loads the key, no load begins in the background")
    func oneRefresh() throws {
        var machine = Self.machine()
        _ = Self.store(&machine, "a", 1)
        let load = try Self.begin(&machine, "a", at: 10)
        #expect(Self.found(&machine, "a", at: 11) == "stale 1")
        _ = machine.isOver(load, of: "a")
        #expect(Self.found(&machine, "a", at: 12) == "stale 1, to load until 15")
        // Two calls that find nothing share their load with each other. The key is loaded until both are over.
        let (first, second) = (try Self.begin(&machine, "a", at: 15), try Self.begin(&machine, "a", at: 15))
        #expect(first == second)
        _ = machine.isOver(first, of: "a")
        #expect(Self.found(&machine, "a", at: 12) == "stale 1")
        _ = machine.isOver(second, of: "a")
        #expect(Self.found(&machine, "a", at: 12) == "stale 1, to load until 15")
    }

    @Test("what a call loads that looked before a write is not kept", arguments: ["remove", "store", "all"])
    func outdated(by hand: String) throws {
        var machine = Self.machine()
        let (load, failing) = (try Self.begin(&machine, "a"), try Self.begin(&machine, "b"))
        switch hand {
        case "remove": for key in ["a", "b"] { #expect(machine.remove(key).keys == [key]) }
        case "store": for key in ["a", "b"] { _ = Self.store(&machine, key, 9) }
        default: _ = machine.removeAll()
        }
        _ = machine.ended(load, of: "a", with: 1, cost: 1, for: Self.lifetime, at: Self.at(1))
        _ = machine.ended(
            failing, of: "b", with: Outage(), isAnswer: true, isOutage: false, keepingFor: .nanoseconds(5),
            at: Self.at(1))
        for key in ["a", "b"] {
            #expect(Self.found(&machine, key, at: 2) == (hand == "store" ? "fresh 9" : "missing"))
        }
        // A call that looks now has another load, which the old call's end does not end.
        let other = try Self.begin(&machine, "a", at: 30)
        #expect(other != load)
        _ = machine.isOver(load, of: "a")
        _ = machine.ended(other, of: "a", with: 3, cost: 1, for: Self.lifetime, at: Self.at(30))
        #expect(Self.found(&machine, "a", at: 31) == "fresh 3")
    }

    @Test("an outage leaves a value as it was; an answer drops it; one that is kept is thrown until its time is over")
    func failures() throws {
        var machine = Self.machine()
        _ = Self.store(&machine, "a", 1)
        let load = try Self.begin(&machine, "a", at: 12)
        var gone = machine.ended(
            load, of: "a", with: Outage(), isAnswer: false, isOutage: true, keepingFor: .seconds(1), at: Self.at(12))
        #expect(Self.keys(gone) == [] && Self.found(&machine, "a", at: 15) == "missing, after an error 1")
        gone = machine.ended(
            load, of: "a", with: Outage(), isAnswer: true, isOutage: false, keepingFor: .zero, at: Self.at(16))
        #expect(Self.keys(gone) == ["a"] && Self.found(&machine, "a", at: 16) == "missing" && machine.count == 0)
        gone = machine.ended(
            load, of: "a", with: Outage(), isAnswer: true, isOutage: false, keepingFor: .nanoseconds(4), at: Self.at(20)
        )
        #expect(Self.found(&machine, "a", at: 23) == "failed" && Self.found(&machine, "a", at: 24) == "missing")
        #expect(machine.fresh("a", at: Self.at(20)) == nil && machine.count == 1)
        _ = machine.ended(load, of: "a", with: 2, cost: 1, for: Self.lifetime, at: Self.at(24))
        #expect(Self.found(&machine, "a", at: 24) == "fresh 2")
    }

    @Test("after an outage a value that may still be returned is, without a load, for as long as the pause")
    func pause() throws {
        var machine = Self.machine(pause: 7)
        _ = Self.store(&machine, "a", 1)
        let load = try Self.begin(&machine, "a", at: 12)
        _ = machine.ended(
            load, of: "a", with: Outage(), isAnswer: false, isOutage: true, keepingFor: .zero, at: Self.at(12))
        _ = machine.isOver(load, of: "a")
        let expected =
            [
                (13, "stale 1"), (18, "stale 1"), (19, "missing, after an error 1"), (14, "stale 1"),
            ] as [(Int64, String)]
        for (now, found) in expected { #expect(Self.found(&machine, "a", at: now) == found, "\(now)") }
        // Not beyond the time in which it may be returned.
        let late = try Self.begin(&machine, "a", at: 28)
        _ = machine.ended(
            late, of: "a", with: Outage(), isAnswer: false, isOutage: true, keepingFor: .zero, at: Self.at(28))
        _ = machine.isOver(late, of: "a")
        #expect(Self.found(&machine, "a", at: 29) == "stale 1" && Self.found(&machine, "a", at: 30) == "missing")
        // A new value ends it.
        _ = Self.store(&machine, "a", 2, at: 28)
        #expect(Self.found(&machine, "a", at: 38) == "stale 2, to load until 43")
    }

    @Test("beyond its count it evicts those that nobody asked for again, and never the newest")
    func count() {
        var machine = Self.machine(maxCount: 2)
        #expect(Self.store(&machine, "a", 1) == [] && Self.store(&machine, "b", 2) == [])
        #expect(Self.found(&machine, "a", at: 1) == "fresh 1")
        #expect(Self.store(&machine, "c", 3) == ["b"])
        #expect(machine.count == 2 && Self.found(&machine, "a", at: 1) == "fresh 1")
        // One that is replaced takes no room.
        #expect(Self.store(&machine, "c", 4) == ["c"] && machine.count == 2)
        var one = Self.machine(maxCount: 1)
        #expect(
            Self.store(&one, "a", 1) == [] && Self.store(&one, "b", 2) == ["a"] && Self.store(&one, "c", 3) == ["b"])
    }

    @Test("to find nothing that can be returned is no use of a key")
    func expiredIsNoUse() {
        var machine = Self.machine(maxCount: 2)
        _ = Self.store(&machine, "a", 1, at: 0)
        _ = Self.store(&machine, "b", 2, at: 100)
        #expect(Self.found(&machine, "a", at: 100) == "missing")
        #expect(Self.store(&machine, "c", 3, at: 100) == ["a"])
    }

    @Test("beyond its cost it evicts as many as it must; what costs more than all may is not kept")
    func cost() {
        var machine = Self.machine(maxCost: 10)
        for (key, cost) in [("a", 4), ("b", 4), ("c", 2)] { #expect(Self.store(&machine, key, 1, cost: cost) == []) }
        #expect(machine.cost == 10)
        #expect(Self.store(&machine, "d", 1, cost: 6) == ["a", "b"] && machine.cost == 8)
        #expect(Self.store(&machine, "c", 1, cost: 11) == ["c"] && machine.cost == 6 && machine.count == 1)
        #expect(Self.store(&machine, "e", 1, cost: 11) == [] && machine.count == 1)
        // One that grows does not count twice.
        #expect(Self.store(&machine, "d", 1, cost: 10) == ["d"] && machine.cost == 10 && machine.count == 1)
        #expect(Self.store(&machine, "d", 1, cost: -3) == ["d"] && machine.cost == 0)
        var huge = Self.machine()
        for key in ["a", "b"] { _ = Self.store(&huge, key, 1, cost: .max) }
        #expect(huge.cost == .max && huge.count == 1)
    }

    @Test("a value that can never be returned takes no room")
    func useless() {
        var machine = Self.machine(maxCount: 1)
        _ = Self.store(&machine, "a", 1)
        let gone = machine.store(2, for: "b", cost: 1, lifetime: CacheLifetime(freshFor: .zero), at: Self.at(0))
        #expect(Self.keys(gone) == [] && machine.count == 1 && Self.found(&machine, "a", at: 1) == "fresh 1")
    }

    @Test("an eviction does not keep a load in flight from being stored")
    func evictedWhileLoading() throws {
        var machine = Self.machine(maxCount: 1)
        _ = Self.store(&machine, "a", 1)
        let load = try Self.begin(&machine, "a", at: 10)
        #expect(Self.store(&machine, "b", 2) == ["a"])
        _ = machine.ended(load, of: "a", with: 3, cost: 1, for: Self.lifetime, at: Self.at(11))
        #expect(Self.found(&machine, "a", at: 11) == "fresh 3")
    }

    @Test("a reading of the clock that is older than the value's does not make it older")
    func order() {
        var machine = Self.machine()
        _ = Self.store(&machine, "a", 1, at: 100)
        _ = Self.store(&machine, "a", 2, at: 50)
        #expect(Self.found(&machine, "a", at: 60) == "fresh 2" && Self.found(&machine, "a", at: 109) == "fresh 2")
    }

    @Test("a load that took too long for a caller is the reason for a pause, too, unless the caller had no time")
    func pauseAfterWait() throws {
        var machine = Self.machine(pause: 7)
        _ = Self.store(&machine, "a", 1)
        #expect(machine.afterError("a", pausing: false, at: Self.at(16)) == 1)
        #expect(Self.found(&machine, "a", at: 16) == "missing, after an error 1")
        #expect(machine.afterError("a", pausing: true, at: Self.at(16)) == 1)
        #expect(Self.found(&machine, "a", at: 22) == "stale 1")
        #expect(Self.found(&machine, "a", at: 23) == "missing, after an error 1")
    }

    @Test("after a failure that is no outage a value is paused for no longer than it would be returned anyhow")
    func pauseOfOtherFailure() throws {
        var machine = Self.machine(pause: 7)
        _ = Self.store(&machine, "a", 1)
        let load = try Self.begin(&machine, "a", at: 12)
        _ = machine.ended(
            load, of: "a", with: Outage(), isAnswer: false, isOutage: false, keepingFor: .zero, at: Self.at(12))
        _ = machine.isOver(load, of: "a")
        #expect(Self.found(&machine, "a", at: 14) == "stale 1")
        #expect(Self.found(&machine, "a", at: 15) == "missing, after an error 1")
    }

    @Test(
        "a load that is about to begin finds a wait that another one was told since its call looked",
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

    @Test("at the ends of time nothing traps", arguments: [Int64.min, .max, 0])
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
