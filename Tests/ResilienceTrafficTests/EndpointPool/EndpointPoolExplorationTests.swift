import ResilienceTesting
import TestSupport
import Testing

@testable import Resilience
@testable import ResilienceTraffic

/// A pool compared with a model that lists each endpoint's results since it was added. The model counts its list again
/// with every input, and then also makes the changes that time alone causes.
private struct ListedOutcomes: ExplorableMachine {
    enum Input: Hashable {
        case call
        case succeed(Int), fail(Int), leave(Int)
        case wait(Int64)
        case add, removeFirst
        case ejectFirst, restoreLast
        case reset
    }

    private typealias Machine = EndpointPoolStateMachine
    private typealias Change = EndpointPoolStateMachine.Change

    private struct Endpoint {
        let id: Int
        var isHeld = false
        var until: Int64?
        /// Results since it was added, and their intervals.
        var log: [(failed: Bool, interval: Int)] = []
        /// The length of the log when it was last decided whether to forgive an ejection.
        var seen = 0
        var stay = 0
        var ejections = 0
        var forgetsAt: Int64?
        var total = 0

        var streak: Int { log.reversed().prefix { $0.failed }.count }
    }

    private static let rules = OutlierEjection(
        afterConsecutive: 2, deviation: .init(factor: 0.9, minimumGap: 0.2, minimumEndpoints: 2, minimumCalls: 2),
        failureShare: .init(0.6, minimumEndpoints: 1, minimumCalls: 3), interval: .nanoseconds(20),
        for: .nanoseconds(30), upTo: .nanoseconds(70), jitter: 0, maxEjected: 0.5)

    private var machine: Machine
    private var generator = SeededGenerator(seed: 3)
    private var endpoints: [Endpoint] = []
    private var open: [(pick: Machine.Pick, stay: Int)] = []
    private var now: Int64
    private var interval = 0
    private var intervalEnd: Int64
    private var panics = false

    private var instant: MonotonicInstant { MonotonicInstant(nanoseconds: now) }

    init(start: Int64, count: Int, choice: EndpointChoice) {
        now = start
        intervalEnd = start.saturatingAdding(20)
        machine = Machine(
            Machine.Settings(
                choosing: choice, ejecting: Self.rules, slowStart: SlowStart(over: .nanoseconds(15), from: 0.5),
                panicThreshold: 0.6, failing: [.transient]),
            at: MonotonicInstant(nanoseconds: start))
        _ = machine.update(to: (0..<count).map { _ in (nil, 1) }, at: instant, using: &generator)
        endpoints = machine.members.map { Endpoint(id: $0.id) }
    }

    var inputs: [Input] {
        var inputs: [Input] = [.call, .wait(1), .wait(10), .wait(30), .wait(-7), .add, .reset]
        if !endpoints.isEmpty { inputs += [.removeFirst, .ejectFirst, .restoreLast] }
        if !open.isEmpty { inputs += [.succeed(0), .fail(0), .leave(0)] }
        if open.count > 1 { inputs += [.fail(open.count - 1), .succeed(open.count - 1)] }
        return inputs
    }

    mutating func apply(_ input: Input) throws {
        let instant = self.instant
        switch input {
        case .call:
            var tried = TriedEndpoints()
            let answer = machine.choose(&tried, at: instant, using: &generator)
            try require(answer.changes, is: pass(), "what has changed")
            guard let pick = answer.pick else {
                try require(usable.isEmpty, "there is an endpoint")
                break
            }
            try require(usable.contains(pick.place), "the chosen one, \(pick.place), gets no calls")
            try require(endpoints[pick.place].id, is: pick.id, "the number")
            open.append((pick, endpoints[pick.place].stay))
        case .succeed(let number):
            let (pick, stay) = open.remove(at: number)
            machine.succeeded(pick)
            _ = end(pick, stay, failed: false)
        case .fail(let number):
            let (pick, stay) = open.remove(at: number)
            let changes = machine.failed(pick, at: instant, using: &generator)
            var expected = pass()
            if let place = end(pick, stay, failed: true), endpoints[place].streak >= 2 {
                let streak = endpoints[place].streak
                expected += eject(place, .consecutiveFailures(streak), tells: streak == 2)
            }
            try require(changes, is: expected, "what has changed")
        case .leave(let number):
            machine.left(open.remove(at: number).pick)
        case .wait(let length):
            now = now.saturatingAdding(length)
        case .add:
            let list = endpoints.map { (id: Optional($0.id), weight: 1.0) } + [(nil, 1)]
            let changes = machine.update(to: list, at: instant, using: &generator)
            endpoints.append(Endpoint(id: machine.members.last?.id ?? -1))
            try require(changes, is: bound() + panic(), "what has changed")
        case .removeFirst:
            endpoints.removeFirst()
            let changes = machine.update(
                to: endpoints.map { (id: $0.id, weight: 1) }, at: instant, using: &generator)
            try require(changes, is: bound() + panic(), "what has changed")
        case .ejectFirst:
            let changes = machine.eject(endpoints[0].id, until: instant + .nanoseconds(12), at: instant)
            endpoints[0].isHeld = true
            takeOut(0, until: now.saturatingAdding(12))
            let length = now.saturatingAdding(12).saturatingSubtracting(now)
            let time = now.saturatingAdding(12) == .max ? Duration.infinite : .nanoseconds(length)
            try require(changes, is: [.ejected(0, .byHand, for: time)] + bound() + panic(), "what has changed")
        case .restoreLast:
            let place = endpoints.count - 1
            let changes = machine.restore(endpoints[place].id, at: instant)
            var expected: [Change] = []
            if endpoints[place].until != nil { expected = [bringBack(place)] + panic() }
            try require(changes, is: expected, "what has changed")
        case .reset:
            let changes = machine.reset(at: instant)
            var expected: [Change] = []
            for place in endpoints.indices {
                if endpoints[place].until != nil { expected.append(bringBack(place)) }
                let endpoint = endpoints[place]
                endpoints[place] = Endpoint(id: endpoint.id, stay: endpoint.stay + 1)
            }
            intervalEnd = now.saturatingAdding(20)
            interval += 1
            try require(changes, is: expected + panic(), "what has changed")
        }
        try require(machine.usable, is: usable, "those that get calls")
        try require(machine.isPanicking, is: panics, "whether all are used")
        for (place, endpoint) in endpoints.enumerated() {
            let member = machine.members[place]
            try require(member.ejectedUntil?.nanoseconds, is: endpoint.until, "the end of \(place)'s ejection")
            try require(member.streak, is: endpoint.streak, "the failures in a row of \(place)")
            try require(member.ejections, is: endpoint.ejections, "the ejections of \(place)")
            try require(member.inFlight, is: open.count { $0.pick.id == endpoint.id }, "the calls of \(place)")
            try require(member.total.calls, is: endpoint.total, "all calls of \(place)")
            let weight = machine.weight(of: place, at: self.instant)
            try require(weight >= 0.5 && weight <= 1, "the weight of \(place) is \(weight)")
        }
        if open.isEmpty, endpoints.allSatisfy({ $0.until == nil && $0.streak == 0 && $0.ejections == 0 }) {
            try require(machine.isAtRest, "it is not at rest")
        }
    }

    private var present: [Int] { endpoints.indices.filter { !endpoints[$0].isHeld } }
    private var healthy: [Int] { present.filter { endpoints[$0].until == nil } }
    private var usable: [Int] { panics ? present : healthy }

    /// If more than half of the list is ejected, endpoints return, those with the earliest end first.
    private mutating func bound() -> [Change] {
        var changes: [Change] = []
        while true {
            let out = present.filter { endpoints[$0].until != nil }
            guard out.count > min(max(1, present.count / 2), present.count - 1) else { return changes }
            guard let first = out.min(by: { (endpoints[$0].until ?? 0, $0) < (endpoints[$1].until ?? 0, $1) }) else {
                return changes
            }
            changes.append(bringBack(first))
        }
    }

    private mutating func panic() -> [Change] {
        let panics = Double(healthy.count) < 0.6 * Double(present.count)
        defer { self.panics = panics }
        if panics == self.panics { return [] }
        return panics ? [.panicBegan(left: healthy.count, of: present.count)] : [.panicEnded]
    }

    /// Changes by time alone.
    private mutating func pass() -> [Change] {
        var changes: [Change] = []
        for place in endpoints.indices {
            if let until = endpoints[place].until, until <= now, until != .max { changes.append(bringBack(place)) }
            if let time = endpoints[place].forgetsAt, time <= now, time != .max {
                let record = endpoints[place].log.dropFirst(endpoints[place].seen)
                if !record.isEmpty, record.count(where: \.failed) * 10 <= record.count {
                    endpoints[place].ejections = max(0, endpoints[place].ejections - 1)
                }
                endpoints[place].seen = endpoints[place].log.count
                endpoints[place].forgetsAt = endpoints[place].ejections > 0 ? now.saturatingAdding(55) : nil
            }
        }
        changes += panic()
        guard intervalEnd <= now else { return changes }
        let isLate = now >= intervalEnd.saturatingAdding(20)
        if !isLate {
            for (place, reason) in outliers { changes += eject(place, reason, tells: true) }
        }
        interval += 1
        intervalEnd = (isLate ? now : intervalEnd).saturatingAdding(20)
        return changes
    }

    private func share(_ place: Int) -> Double? {
        let ends = endpoints[place].log.filter { $0.interval == interval }
        guard endpoints[place].until == nil, ends.count >= 2 else { return nil }
        return Double(ends.count { $0.failed }) / Double(ends.count)
    }

    private var outliers: [(Int, EjectionReason)] {
        var found: [(Int, EjectionReason)] = []
        let compared = endpoints.indices.filter { share($0) != nil }
        if compared.count >= 2 {
            let shares = compared.map { 1 - (share($0) ?? 0) }
            let mean = shares.reduce(0, +) / Double(shares.count)
            let deviation = (shares.map { ($0 - mean) * ($0 - mean) }.reduce(0, +) / Double(shares.count)).squareRoot()
            for (place, share) in zip(compared, shares) where share < mean - 0.9 * deviation && mean - share >= 0.2 {
                found.append((place, .deviation(share, mean: mean)))
            }
        }
        for place in compared {
            let count = endpoints[place].log.count { $0.interval == interval }
            guard let failed = share(place), failed >= 0.6, count >= 3, !found.contains(where: { $0.0 == place }) else {
                continue
            }
            found.append((place, .failureShare(failed)))
        }
        return found.sorted { (share($0.0) ?? 0, -$0.0) > (share($1.0) ?? 0, -$1.0) }
    }

    private mutating func end(_ pick: Machine.Pick, _ stay: Int, failed: Bool) -> Int? {
        guard let place = endpoints.firstIndex(where: { $0.id == pick.id }) else { return nil }
        endpoints[place].total += 1
        guard endpoints[place].stay == stay, endpoints[place].until == nil else { return nil }
        endpoints[place].log.append((failed, interval))
        return place
    }

    private mutating func eject(_ place: Int, _ reason: EjectionReason, tells: Bool) -> [Change] {
        let out = present.count - healthy.count
        guard out + 1 <= max(1, present.count / 2), healthy.count > 1 else {
            return tells ? [.kept(place, reason)] : []
        }
        endpoints[place].ejections = min(endpoints[place].ejections + 1, 3)
        let length = Int64(min(endpoints[place].ejections * 30, 70))
        takeOut(place, until: now.saturatingAdding(length))
        return [.ejected(place, reason, for: .nanoseconds(length))] + panic()
    }

    private mutating func takeOut(_ place: Int, until: Int64) {
        endpoints[place].until = until
        endpoints[place].stay += 1
        endpoints[place].log = []
        endpoints[place].forgetsAt = nil
    }

    private mutating func bringBack(_ place: Int) -> Change {
        endpoints[place].until = nil
        endpoints[place].isHeld = false
        endpoints[place].stay += 1
        (endpoints[place].log, endpoints[place].seen) = ([], 0)
        endpoints[place].forgetsAt = now.saturatingAdding(55)
        return .returned(place)
    }
}

// P58
@Suite(.heavy) struct EndpointPoolExplorationTests {
    @Test(
        "as far as the effort allows, EndpointPoolStateMachine ejects the same endpoints as a model that lists all results",
        arguments: [(0, 3), (-1_005, 2), (Int64.max - 300, 4), (Int64.min, 5)], EndpointChoice.allCases)
    func listed(start: (Int64, Int), choice: EndpointChoice) throws {
        let explorer = Explorer(
            ListedOutcomes(start: start.0, count: start.1, choice: choice),
            code: "pool of \(start.1) from \(start.0), \(choice)")
        try explorer.exploreAll(depth: 4)
        try explorer.exploreRandomly(length: 4_000, seed: 15)
    }
}
