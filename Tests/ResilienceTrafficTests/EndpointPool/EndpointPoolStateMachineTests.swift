import ResilienceTesting
import Testing

@testable import Resilience
@testable import ResilienceTraffic

/// A machine with its time and its randomness.
private struct Bench {
    typealias Machine = EndpointPoolStateMachine

    var machine: Machine
    var now = MonotonicInstant(nanoseconds: 1_000)
    var generator = SeededGenerator(seed: 7)

    init(
        _ weights: [Double], _ choice: EndpointChoice = .roundRobin, ejecting ejection: OutlierEjection? = nil,
        slowStart: SlowStart? = nil, panicThreshold: Double = 0.5
    ) {
        machine = Machine(
            Machine.Settings(
                choosing: choice, ejecting: ejection, slowStart: slowStart, panicThreshold: panicThreshold,
                failing: [.transient, .uncertain]),
            at: now)
        _ = machine.update(to: weights.map { (nil, $0) }, at: now, using: &generator)
    }

    init(
        _ count: Int, _ choice: EndpointChoice = .roundRobin,
        ejecting ejection: OutlierEjection? = OutlierEjection(jitter: 0), slowStart: SlowStart? = nil,
        panicThreshold: Double = 0.5
    ) {
        self.init(
            Array(repeating: 1, count: count), choice, ejecting: ejection, slowStart: slowStart,
            panicThreshold: panicThreshold)
    }

    mutating func choose(
        _ tried: inout TriedEndpoints, inFlight: [Int] = [], rejected: [Int] = []
    ) -> (pick: Machine.Pick?, changes: [Machine.Change]) {
        machine.choose(&tried, inFlight: inFlight, rejected: rejected, at: now, using: &generator)
    }

    /// Chooses for a new call.
    mutating func choose() -> (pick: Machine.Pick?, changes: [Machine.Change]) {
        var tried = TriedEndpoints()
        return choose(&tried)
    }

    /// Chooses for a call that has tried all other endpoints.
    mutating func choose(only place: Int) -> Machine.Pick? {
        var tried = TriedEndpoints()
        let others = machine.members.map(\.id).filter { $0 != machine.members[place].id }
        for id in others { tried.add(id) }
        return choose(&tried, rejected: others).pick
    }

    mutating func fail(_ pick: Machine.Pick) -> [Machine.Change] {
        machine.failed(pick, at: now, using: &generator)
    }

    /// Failing calls of an endpoint.
    mutating func fail(_ place: Int, times: Int = 1) -> [Machine.Change] {
        (0..<times).flatMap { _ in choose(only: place).map { fail($0) } ?? [] }
    }

    mutating func succeed(_ place: Int, times: Int = 1) {
        for _ in 0..<times {
            if let pick = choose(only: place) { machine.succeeded(pick) }
        }
    }

    mutating func wait(_ time: Duration) { now = now + time }

    /// How often each endpoint is chosen, if calls end at once.
    mutating func counts(of calls: Int) -> [Int] {
        var counts = Array(repeating: 0, count: machine.members.count)
        for _ in 0..<calls {
            guard let pick = choose().pick else { continue }
            counts[pick.place] += 1
            machine.succeeded(pick)
        }
        return counts
    }

    var ejected: [Int] { machine.members.indices.filter { machine.members[$0].ejectedUntil != nil } }
}

struct EndpointPoolChoiceStateMachineTests {
    @Test("round robin sends any three calls to all three endpoints")
    func turns() {
        var bench = Bench(3)
        let places = (0..<30).map { _ in bench.choose().pick?.place ?? -1 }
        for start in 0..<28 { #expect(Set(places[start..<start + 3]) == [0, 1, 2]) }
    }

    @Test("processes do not all begin with the same endpoint")
    func begin() {
        var first: Set<Int> = []
        for seed in 0..<40 {
            var bench = Bench(0)
            bench.generator = SeededGenerator(seed: UInt64(seed))
            _ = bench.machine.update(
                to: (0..<3).map { _ in (nil, 1) }, at: bench.now, using: &bench.generator)
            first.insert(bench.choose().pick?.place ?? -1)
        }
        #expect(first == [0, 1, 2])
    }

    @Test("an endpoint's turns are in proportion to its weight, and are spread evenly")
    func weightedTurns() {
        var bench = Bench([5, 1, 1])
        #expect(bench.counts(of: 700).allSatisfy { [499...501, 99...101].joined().contains($0) })
        let places = (0..<70).map { _ in bench.choose().pick?.place ?? -1 }
        // With weights of 5 to 2, no more than four in a row.
        let longest = places.split { $0 != 0 }.map(\.count).max() ?? 0
        #expect(longest <= 4)
    }

    @Test("the less busy of two endpoints gets the next call")
    func lessLoaded() {
        var bench = Bench(2, .leastLoaded)
        let picks = (0..<20).compactMap { _ in bench.choose().pick }
        #expect(bench.machine.members.map(\.inFlight) == [10, 10])
        for pick in picks where pick.place == 0 { bench.machine.left(pick) }
        for _ in 0..<10 { #expect(bench.choose().pick?.place == 0) }
    }

    @Test("idle endpoints are chosen in proportion to their weights", arguments: EndpointChoice.allCases)
    func shares(choice: EndpointChoice) {
        var bench = Bench(10, choice)
        #expect(bench.counts(of: 10_000).allSatisfy { (850...1_150).contains($0) })
        bench = Bench([6, 3, 1], choice)
        let counts = bench.counts(of: 10_000)
        #expect(abs(counts[0] - 6_000) < 300 && abs(counts[1] - 3_000) < 300 && abs(counts[2] - 1_000) < 300)
    }

    @Test("each endpoint has calls in flight in proportion to its weight")
    func weightedLoad() {
        var bench = Bench([3, 1], .leastLoaded)
        for _ in 0..<400 { _ = bench.choose() }
        let inFlight = bench.machine.members.map(\.inFlight)
        #expect(abs(inFlight[0] - 300) <= 3 && abs(inFlight[1] - 100) <= 3)
    }

    @Test(
        "an attempt goes to an endpoint that the call has not tried; if all were tried, to any except the last",
        arguments: EndpointChoice.allCases)
    func elsewhere(choice: EndpointChoice) {
        var bench = Bench(4, choice, ejecting: nil)
        for _ in 0..<50 {
            var tried = TriedEndpoints()
            let first = (0..<4).map { _ in bench.choose(&tried).pick?.place ?? -1 }
            #expect(Set(first) == [0, 1, 2, 3] && tried.count == 4)
            // All were tried: any endpoint except the last.
            let next = (0..<3).map { _ in bench.choose(&tried).pick?.place ?? -1 }
            #expect(Set(next + [first[3]]) == [0, 1, 2, 3])
        }
    }

    @Test(
        "a rejected attempt may return to tried endpoints, but not to those that rejected it",
        arguments: EndpointChoice.allCases)
    func rejected(choice: EndpointChoice) {
        var bench = Bench(2, choice, ejecting: nil)
        var tried = TriedEndpoints()
        let first = bench.choose(&tried).pick
        let second = bench.choose(&tried).pick
        #expect(first?.place != second?.place)
        let rejected = [second?.id ?? -1]
        #expect(bench.choose(&tried, rejected: rejected).pick?.place == first?.place)
        #expect(bench.choose(&tried, rejected: rejected + [first?.id ?? -1]).pick == nil)
    }

    @Test("after a change of weights no endpoint is chosen many times in a row", arguments: [65_535.0, 1_000])
    func otherWeights(old: Double) {
        var bench = Bench([old, old])
        _ = bench.choose()
        let list = bench.machine.members.map { (id: Optional($0.id), weight: 1.0) }
        _ = bench.machine.update(to: list, at: bench.now, using: &bench.generator)
        let places = (0..<10).map { _ in bench.choose().pick?.place ?? -1 }
        #expect(zip(places, places.dropFirst()).count { $0 == $1 } <= 1, "\(places)")
    }

    @Test("the lighter of two endpoints gets few calls, even if both are idle")
    func lightOfTwo() {
        var bench = Bench([99, 1], .leastLoaded)
        #expect(bench.counts(of: 1_000)[1] < 40)
    }

    @Test("if all endpoints were tried, those with a copy in flight are avoided", arguments: EndpointChoice.allCases)
    func copies(choice: EndpointChoice) {
        var bench = Bench(3, choice)
        var tried = TriedEndpoints()
        let picks = (0..<3).compactMap { _ in bench.choose(&tried).pick }
        // The first is still in flight, and the last was tried last.
        #expect(bench.choose(&tried, inFlight: [picks[0].id]).pick?.id == picks[1].id)
        // All have a copy in flight: any of them may be chosen.
        #expect(bench.choose(&tried, inFlight: picks.map(\.id)).pick != nil)
    }

    @Test("with one endpoint, every attempt of a call goes there", arguments: EndpointChoice.allCases)
    func one(choice: EndpointChoice) {
        var bench = Bench(1, choice)
        var tried = TriedEndpoints()
        for _ in 0..<10 { #expect(bench.choose(&tried).pick?.place == 0) }
        #expect(tried.count == 1)
    }

    @Test("without endpoints no endpoint is chosen", arguments: EndpointChoice.allCases)
    func none(choice: EndpointChoice) {
        var bench = Bench(0, choice)
        #expect(bench.choose().pick == nil)
        #expect(bench.machine.nextReturn == nil && !bench.machine.isPanicking && bench.machine.isAtRest)
    }

    @Test(
        "a returning endpoint gets a few calls at first, and later its share",
        arguments: EndpointChoice.allCases)
    func slowStart(choice: EndpointChoice) {
        var bench = Bench(5, choice, slowStart: SlowStart(over: .seconds(10), from: 0.1))
        #expect(bench.fail(2, times: 5).count == 1)
        bench.wait(.seconds(30))
        let first = bench.choose()
        #expect(first.changes == [.returned(2)])
        if let pick = first.pick { bench.machine.left(pick) }
        var counts = bench.counts(of: 4_100)
        #expect((50...150).contains(counts[2]), "\(counts)")
        #expect(abs(bench.machine.weight(of: 2, at: bench.now) - 0.1) < 1e-9)
        bench.wait(.seconds(5))
        counts = bench.counts(of: 4_500)
        #expect((400...600).contains(counts[2]), "\(counts)")
        bench.wait(.seconds(5))
        counts = bench.counts(of: 5_000)
        #expect((850...1_150).contains(counts[2]), "\(counts)")
    }

    @Test("a new endpoint begins with a low weight, unless all are new")
    func newEndpoints() {
        var bench = Bench(2, slowStart: SlowStart(over: .seconds(10), from: 0.2))
        #expect(bench.machine.weight(of: 0, at: bench.now) == 1)
        let (id, now) = (bench.machine.members[1].id, bench.now)
        _ = bench.machine.update(to: [(id, 1), (nil, 4)], at: now, using: &bench.generator)
        #expect(bench.machine.weight(of: 0, at: now) == 1)
        #expect(abs(bench.machine.weight(of: 1, at: now) - 0.8) < 1e-9)
        #expect(abs(bench.machine.weight(of: 1, at: now + .seconds(5)) - 2) < 1e-9)
        #expect(bench.machine.weight(of: 1, at: now + .seconds(-5)) > 0)
        #expect(bench.machine.weight(of: 1, at: .distantFuture) == 4)
        _ = bench.machine.update(to: [(nil, 1), (nil, 1)], at: now, using: &bench.generator)
        #expect(bench.machine.weight(of: 0, at: now) == 1)
    }
}

struct EndpointPoolEjectionStateMachineTests {
    private typealias Change = EndpointPoolStateMachine.Change

    @Test("the fifth failure in a row ejects the endpoint, and a success restarts the count")
    func consecutive() {
        var bench = Bench(10)
        var changes = bench.fail(3, times: 4)
        #expect(changes == [])
        bench.succeed(3)
        changes = bench.fail(3, times: 4)
        #expect(changes == [] && bench.machine.members[3].streak == 4)
        // Results without information change nothing.
        if let pick = bench.choose(only: 3) { bench.machine.left(pick) }
        changes = bench.fail(3)
        #expect(changes == [.ejected(3, .consecutiveFailures(5), for: .seconds(30))])
        #expect(bench.choose(only: 3) == nil && !bench.counts(of: 100).enumerated().contains { $0 == 3 && $1 > 0 })
    }

    @Test(
        "each verdict counts for the endpoint, against it, or not",
        arguments: [
            (.success, .healthy), (.permanent, .healthy), (.transient, .failing), (.uncertain, .failing),
            (.throttled, .nothing), (.cancelled, .nothing), (.rejected, .nothing),
            (.transient(retryAfter: .seconds(1)), .failing),
        ] as [(Verdict, EndpointPoolStateMachine.Evidence)])
    func evidence(verdict: Verdict, evidence: EndpointPoolStateMachine.Evidence) {
        #expect(Bench(1).machine.settings.evidence(of: verdict) == evidence)
    }

    @Test(
        "at least one endpoint may be ejected, and never all; the limit includes the new ejection",
        arguments: [
            (0.1, 0, 0), (0.1, 1, 0), (0.1, 2, 1), (0.1, 3, 1), (0.1, 10, 1), (0.1, 19, 1), (0.1, 20, 2),
            (0.5, 3, 1), (0.67, 3, 2), (1, 3, 2), (1, 1, 0), (0, 100, 0), (0.29, 100, 29), (1, 1_000_000, 999_999),
        ])
    func limit(share: Double, count: Int, limit: Int) {
        #expect(OutlierEjection(maxEjected: share).limit(of: count) == limit)
    }

    @Test(
        "an endpoint beyond the limit stays, is reported once, and is ejected by its next failure once the limit allows it"
    )
    func kept() {
        var bench = Bench(10)
        var changes = bench.fail(0, times: 5) + bench.fail(1, times: 8)
        #expect(
            changes == [
                .ejected(0, .consecutiveFailures(5), for: .seconds(30)), .kept(1, .consecutiveFailures(5)),
            ])
        bench.wait(.seconds(30))
        changes = bench.fail(1)
        #expect(changes == [.ejected(1, .consecutiveFailures(9), for: .seconds(30))])
    }

    @Test("each ejection in a row is longer, up to the limit; healthy time shortens the next ejection step by step")
    func longer() {
        var bench = Bench(10, ejecting: OutlierEjection(for: .seconds(30), upTo: .seconds(80), jitter: 0))
        for length in [30, 60, 80, 80] {
            let changes = bench.fail(0, times: 5)
            #expect(changes.last == .ejected(0, .consecutiveFailures(5), for: .seconds(length)))
            bench.wait(.seconds(length))
        }
        // Only ejections that make a difference are remembered.
        #expect(bench.machine.members[0].ejections == 3)
        for left in [2, 1, 0] {
            bench.succeed(0)
            bench.wait(.seconds(30))
            _ = bench.choose()
            #expect(bench.machine.members[0].ejections == left)
        }
        let changes = bench.fail(0, times: 5)
        #expect(changes.last == .ejected(0, .consecutiveFailures(5), for: .seconds(30)))
    }

    @Test("the jitter lengthens each ejection by a different amount")
    func jitter() {
        var bench = Bench(100, ejecting: OutlierEjection(jitter: 0.5, maxEjected: 0.4))
        let lengths = (0..<40).flatMap { bench.fail($0, times: 5) }.compactMap { change -> Duration? in
            guard case .ejected(_, _, let length) = change else { return nil }
            return length
        }
        #expect(lengths.count == 40 && Set(lengths).count == 40)
        #expect(lengths.allSatisfy { (.seconds(30)...(.seconds(45))).contains($0) })
    }

    /// An interval in which endpoints have these calls and failures.
    private func interval(_ bench: inout Bench, _ counts: [(calls: Int, failures: Int)]) -> [Change] {
        var changes: [Change] = []
        for (place, count) in counts.enumerated() {
            for number in 0..<count.calls {
                // Spread, so that they are not consecutive.
                let fails = (number + 1) * count.failures / count.calls > number * count.failures / count.calls
                if fails { changes += bench.fail(place) } else { bench.succeed(place) }
            }
        }
        bench.wait(.seconds(10))
        return changes + bench.choose().changes
    }

    private func deviation(_ rule: OutlierEjection.Deviation? = .init(), maxEjected: Double = 1) -> OutlierEjection {
        OutlierEjection(afterConsecutive: nil, deviation: rule, jitter: 0, maxEjected: maxEjected)
    }

    @Test("an endpoint far below the others is ejected")
    func outlier() {
        var bench = Bench(6, ejecting: deviation())
        let good = Array(repeating: (calls: 100, failures: 1), count: 5)
        let changes = interval(&bench, good + [(100, 40)])
        #expect(changes.count == 1 && bench.ejected == [5])
        guard case .ejected(5, .deviation(let share, let mean), for: .seconds(30)) = changes.first else {
            Issue.record("\(changes)")
            return
        }
        #expect(abs(share - 0.6) < 1e-9 && abs(mean - 0.925) < 1e-9)
        // And its counts restart.
        bench.wait(.seconds(30))
        _ = bench.choose()
        #expect(interval(&bench, good + [(0, 0)]) == [])
    }

    @Test("an endpoint that is only a little worse stays, however well the others do")
    func gap() {
        var bench = Bench(10, ejecting: deviation())
        let good = Array(repeating: (calls: 1_000, failures: 0), count: 9)
        #expect(interval(&bench, good + [(1_000, 10)]) == [])
        bench = Bench(10, ejecting: deviation(.init(minimumGap: 0)))
        #expect(interval(&bench, good + [(1_000, 10)]).count == 1)
    }

    @Test("endpoints with few calls are not compared, and a comparison needs enough endpoints")
    func volume() {
        var bench = Bench(6, ejecting: deviation())
        let good = Array(repeating: (calls: 100, failures: 0), count: 5)
        #expect(interval(&bench, good + [(99, 99)]) == [])
        #expect(interval(&bench, good.dropLast(2) + [(0, 0), (0, 0), (100, 100)]) == [])
        #expect(interval(&bench, good + [(100, 100)]).count == 1)
    }

    @Test("if not all may be ejected, the worst come first")
    func worst() {
        var bench = Bench(20, ejecting: deviation(maxEjected: 0.1))
        let good = Array(repeating: (calls: 100, failures: 0), count: 17)
        let changes = interval(&bench, [(100, 80)] + good + [(100, 90), (100, 85)])
        #expect(bench.ejected == [18, 19])
        #expect(changes.map { if case .ejected(let place, _, _) = $0 { place } else { -1 } } == [18, 19, -1])
    }

    @Test("too large a share of failures ejects an endpoint, longer each time")
    func failureShare() {
        let rule = OutlierEjection(
            afterConsecutive: nil, deviation: nil, failureShare: .init(0.5, minimumEndpoints: 1, minimumCalls: 10),
            jitter: 0)
        var bench = Bench(3, ejecting: rule)
        for length in [30, 60, 90] {
            let changes = interval(&bench, [(10, 5), (10, 4), (9, 9)])
            #expect(changes.last == .ejected(0, .failureShare(0.5), for: .seconds(length)))
            bench.wait(.seconds(length))
            _ = bench.choose()
        }
        // The limit of ejections prevents the second.
        #expect(interval(&bench, [(10, 10), (10, 10), (0, 0)]).contains(.kept(1, .failureShare(1))))
    }

    @Test("an interval that ended long ago ejects no endpoint")
    func stale() {
        var bench = Bench(6, ejecting: deviation())
        for place in 0..<6 {
            bench.succeed(place, times: 100)
            if place == 0 { _ = bench.fail(0, times: 100) }
        }
        bench.wait(.seconds(21))
        #expect(bench.choose().changes == [])
        // The counts of that interval are dropped.
        bench.wait(.seconds(10))
        #expect(bench.choose().changes == [])
    }

    @Test("below the panic threshold all endpoints are used; above it only those that are not ejected")
    func panic() {
        var bench = Bench(4, ejecting: OutlierEjection(jitter: 0, maxEjected: 1))
        var changes = bench.fail(0, times: 5) + bench.fail(1, times: 5)
        #expect(changes.count == 2 && bench.machine.usable == [2, 3])
        bench.wait(.seconds(1))
        changes = bench.fail(2, times: 5)
        #expect(changes.last == .panicBegan(left: 1, of: 4) && bench.machine.usable == [0, 1, 2, 3])
        #expect(bench.counts(of: 400).allSatisfy { $0 == 100 })
        // The last endpoint is never ejected.
        changes = bench.fail(3, times: 5)
        #expect(changes == [.kept(3, .consecutiveFailures(5))])
        // Results of an ejected endpoint do not count.
        #expect(bench.fail(0, times: 20) == [])
        bench.wait(.seconds(29))
        #expect(bench.choose().changes == [.returned(0), .returned(1), .panicEnded])
        #expect(bench.machine.usable == [0, 1, 3])
    }

    @Test("with a threshold of 0 the pool never panics, even if no endpoint is left")
    func noPanic() {
        var bench = Bench(3, ejecting: OutlierEjection(jitter: 0, maxEjected: 1), panicThreshold: 0)
        let (ids, now) = (bench.machine.members.map(\.id), bench.now)
        for place in [0, 1] {
            #expect(
                bench.fail(place, times: 5) == [.ejected(place, .consecutiveFailures(5), for: .seconds(30))])
        }
        #expect(bench.machine.usable == [2])
        // In a list of one endpoint, none may be ejected.
        let changes = bench.machine.update(to: [(ids[0], 1)], at: now, using: &bench.generator)
        #expect(changes == [.returned(0)] && bench.choose().pick != nil)
        let end = now + .seconds(30)
        #expect(
            bench.machine.eject(ids[0], until: end, at: now) == [.ejected(0, .byHand, for: .seconds(30))])
        #expect(bench.choose().pick == nil && bench.machine.nextReturn == end)
        bench.wait(.seconds(30))
        #expect(bench.choose().pick != nil)
    }

    @Test("whatever the others do, an endpoint ejected by hand stays out, even in a panic, and can return early")
    func byHand() {
        var bench = Bench(4, ejecting: OutlierEjection(jitter: 0, maxEjected: 1))
        let (ids, now) = (bench.machine.members.map(\.id), bench.now)
        var changes = bench.machine.eject(ids[0], until: .distantFuture, at: now)
        #expect(changes == [.ejected(0, .byHand, for: .infinite)])
        // Two of the other three may be ejected; the panic threshold ignores the endpoint ejected by hand.
        changes = bench.fail(1, times: 5)
        #expect(changes == [.ejected(1, .consecutiveFailures(5), for: .seconds(30))] && bench.machine.usable == [2, 3])
        changes = bench.fail(2, times: 5)
        #expect(
            changes == [
                .ejected(2, .consecutiveFailures(5), for: .seconds(30)), .panicBegan(left: 1, of: 3),
            ])
        #expect(bench.machine.usable == [1, 2, 3])
        // With two endpoints one may be ejected, and with one none: the endpoint with the earliest end returns.
        changes = bench.machine.eject(ids[3], until: now + .seconds(1), at: now)
        #expect(changes == [.ejected(3, .byHand, for: .seconds(1)), .returned(1), .panicEnded])
        #expect(bench.machine.usable == [1])
        changes = bench.machine.restore(ids[0], at: now)
        #expect(changes == [.returned(0)] && bench.machine.usable == [0, 1])
        #expect(bench.machine.restore(ids[0], at: now) == [] && bench.machine.restore(99, at: now) == [])
        #expect(bench.machine.eject(99, until: now, at: now) == [])
        bench.wait(.seconds(1))
        #expect(bench.choose().changes == [.returned(3)])
    }

    @Test("a list change keeps the state of remaining endpoints, and removed ones do no harm")
    func update() {
        var bench = Bench(4)
        let ids = bench.machine.members.map(\.id)
        _ = bench.fail(1, times: 5)
        _ = bench.fail(2, times: 4)
        let (gone, staying) = (bench.choose(only: 0), bench.choose(only: 2))
        let now = bench.now
        #expect(bench.machine.update(to: [(ids[2], 1), (nil, 1), (ids[1], 1)], at: now, using: &bench.generator) == [])
        #expect(bench.machine.members.map { $0.ejectedUntil != nil } == [false, false, true])
        if let gone { #expect(bench.fail(gone) == []) }
        // The endpoint has another place now.
        if let staying {
            #expect(bench.fail(staying) == [.kept(0, .consecutiveFailures(5))])
        }
        #expect(bench.machine.members.map(\.inFlight) == [0, 0, 0])
        // The same endpoint counts as new when it comes back.
        _ = bench.machine.update(to: [(ids[0], 1)], at: now, using: &bench.generator)
        #expect(bench.machine.members[0].id != ids[0])
    }

    @Test("a clock that runs backwards restores no endpoint early, and one that jumps far does no harm")
    func clocks() {
        var bench = Bench(10)
        _ = bench.fail(0, times: 5)
        bench.wait(.seconds(-100))
        #expect(bench.choose().changes == [] && bench.ejected == [0])
        bench.now = .distantFuture
        #expect(bench.choose().changes == [.returned(0)])
        #expect(bench.fail(0, times: 5).count == 1)
        #expect(bench.counts(of: 20)[0] == 0)
    }

    @Test("the longest times do not trap")
    func extremes() {
        let long = Duration.seconds(Int64.max)
        let rules = OutlierEjection(interval: long, for: long, upTo: long, jitter: 1).valid()
        #expect(rules.maxInARow == 1 && rules.length(ofNumber: 1, 1) == .max && rules.memory == .infinite)
        let short = OutlierEjection(interval: .nanoseconds(1), for: .nanoseconds(1), upTo: long)
        #expect(short.length(ofNumber: .max, 1) == .max)
        var bench = Bench(10, .leastLoaded, ejecting: rules, slowStart: SlowStart(over: long, from: 0.01))
        #expect(bench.fail(0, times: 5).count == 1)
        bench.wait(.seconds(1_000_000))
        #expect(bench.choose().changes == [])
    }

    @Test("a reset restores all endpoints, and drops all their state except the calls in flight")
    func reset() {
        var bench = Bench(10)
        _ = bench.fail(0, times: 5)
        _ = bench.fail(1, times: 4)
        let pick = bench.choose(only: 1)
        let now = bench.now
        #expect(bench.machine.reset(at: now) == [.returned(0)])
        #expect(bench.machine.members[1].inFlight == 1 && !bench.machine.isAtRest)
        if let pick { #expect(bench.fail(pick) == []) }
        #expect(bench.machine.isAtRest && bench.machine.members.allSatisfy { $0.ejections == 0 })
        #expect(bench.fail(1, times: 4) == [])
    }

    @Test("settings without ejection restore all endpoints, except those ejected by hand")
    func settings() {
        var bench = Bench(10)
        _ = bench.fail(0, times: 5)
        let now = bench.now
        _ = bench.machine.eject(bench.machine.members[1].id, until: .distantFuture, at: now)
        var settings = bench.machine.settings
        settings.ejection = nil
        #expect(bench.machine.change(to: settings, at: now) == [.returned(0)])
        #expect(bench.ejected == [1] && bench.fail(0, times: 100) == [])
        settings.ejection = OutlierEjection(afterConsecutive: 2, jitter: 0)
        #expect(bench.machine.change(to: settings, at: now) == [])
        bench.succeed(0)
        #expect(bench.fail(0, times: 2).count == 1)
    }
}

/// After each change from outside, all promises of the settings hold.
@Suite struct EndpointPoolBoundsTests {
    private func bench(_ count: Int, maxEjected: Double) -> Bench {
        var bench = Bench(
            count, ejecting: OutlierEjection(afterConsecutive: 1, deviation: nil, jitter: 0, maxEjected: maxEjected))
        for place in 0..<count {
            _ = bench.fail(place)
            bench.wait(.seconds(1))
        }
        return bench
    }

    @Test(
        "a list that shrinks keeps no more ejections than a new list may have, and one endpoint is left (P58, P60)",
        arguments: 1...20)
    func shrinks(count: Int) {
        var bench = bench(20, maxEjected: 0.1)
        #expect(bench.ejected == [0, 1])
        let changes = bench.machine.update(
            to: bench.machine.members.prefix(count).map { (id: $0.id, weight: 1) }, at: bench.now,
            using: &bench.generator)
        let left = count == 20 ? 2 : count == 1 ? 0 : 1
        #expect(bench.ejected.count == left && !bench.machine.usable.isEmpty)
        // The endpoint whose ejection ends first returns.
        let returned = changes.filter { if case .returned = $0 { true } else { false } }
        #expect(returned == (0..<min(count, 2) - left).map { EndpointPoolStateMachine.Change.returned($0) })
    }

    @Test("a lower `maxEjected` applies at once: the endpoints whose ejections end first return (P60)")
    func lowerShare() {
        var bench = bench(20, maxEjected: 0.4)
        #expect(bench.ejected == Array(0..<8))
        var settings = bench.machine.settings
        settings.ejection = OutlierEjection(afterConsecutive: 1, maxEjected: 0.1)
        #expect(
            bench.machine.change(to: settings, at: bench.now)
                == (0..<6).map { EndpointPoolStateMachine.Change.returned($0) })
        #expect(bench.ejected == [6, 7])
        settings.ejection = OutlierEjection(maxEjected: 0)
        #expect(bench.machine.change(to: settings, at: bench.now).count == 2 && bench.ejected.isEmpty)
    }

    @Test("a shorter maximum time also applies to endpoints that are already ejected (P60)")
    func shorterTime() {
        var bench = bench(4, maxEjected: 0.3)
        #expect(bench.ejected == [0])
        var settings = bench.machine.settings
        settings.ejection = OutlierEjection(for: .seconds(2), upTo: .seconds(3), jitter: 0)
        _ = bench.machine.change(to: settings, at: bench.now)
        #expect(bench.machine.members[0].ejectedUntil == bench.now + .seconds(3))
    }

    @Test(
        "an ejection by hand lowers the limit of other ejections: with two endpoints, the other one returns (P58, P60)")
    func byHand() {
        var bench = bench(2, maxEjected: 0.5)
        #expect(bench.ejected == [0])
        let changes = bench.machine.eject(bench.machine.members[1].id, until: .distantFuture, at: bench.now)
        #expect(changes.contains(.returned(0)) && bench.machine.usable == [0])
    }

    @Test(
        "in any history the number and length of ejections stay within limits, and an endpoint is left (P58, P60)",
        arguments: UInt64(1)...20)
    func anyHistory(seed: UInt64) {
        var chance = SeededGenerator(seed: seed)
        var bench = Bench(6, .leastLoaded, panicThreshold: 0)
        var open: [EndpointPoolStateMachine.Pick] = []
        func ejection() -> OutlierEjection {
            OutlierEjection(
                afterConsecutive: Int.random(in: 1...3, using: &chance),
                for: .seconds(Int.random(in: 1...30, using: &chance)),
                upTo: .seconds(Int.random(in: 30...90, using: &chance)),
                jitter: Double.random(in: 0...1, using: &chance),
                maxEjected: Double.random(in: 0...1, using: &chance))
        }
        for step in 0..<3_000 {
            let ids = bench.machine.members.map(\.id)
            switch Int.random(in: 0..<20, using: &chance) {
            case 0:
                let count = Int.random(in: 0...ids.count, using: &chance)
                var list = ids.shuffled(using: &chance).prefix(count).map { (id: Optional($0), weight: 1.0) }
                for _ in 0..<Int.random(in: 0...3, using: &chance) { list.append((nil, 2)) }
                _ = bench.machine.advance(to: bench.now, using: &bench.generator)
                _ = bench.machine.update(to: list, at: bench.now, using: &bench.generator)
            case 1:
                var settings = bench.machine.settings
                settings.ejection = Int.random(in: 0..<5, using: &chance) == 0 ? nil : ejection()
                settings.slowStart = Bool.random(using: &chance) ? SlowStart() : nil
                _ = bench.machine.change(to: settings, at: bench.now)
            case 2:
                if let id = ids.randomElement(using: &chance) {
                    _ = bench.machine.eject(id, until: bench.now + .seconds(20), at: bench.now)
                }
            case 3: if let id = ids.randomElement(using: &chance) { _ = bench.machine.restore(id, at: bench.now) }
            case 4: if step % 7 == 0 { _ = bench.machine.reset(at: bench.now) }
            case 5..<8: bench.wait(.seconds(Int.random(in: 0...10, using: &chance)))
            case 8..<13: if let pick = bench.choose().pick { open.append(pick) }
            default:
                guard !open.isEmpty else { continue }
                let pick = open.remove(at: Int.random(in: open.indices, using: &chance))
                if Int.random(in: 0..<3, using: &chance) == 0 {
                    bench.machine.succeeded(pick)
                } else {
                    _ = bench.fail(pick)
                }
            }
            let machine = bench.machine
            let present = machine.members.filter { !$0.isHeldOut }
            let ejected = present.compactMap(\.ejectedUntil)
            let settings = machine.settings.ejection
            #expect(ejected.count <= settings?.limit(of: present.count) ?? 0)
            #expect(present.isEmpty || !machine.usable.isEmpty)
            let longest = settings.map { $0.maxTime * (1 + $0.jitter) } ?? .zero
            #expect(ejected.allSatisfy { bench.now.duration(to: $0) <= longest + .nanoseconds(1_000) })
            #expect(machine.members.allSatisfy { $0.inFlight >= 0 && $0.inFlight <= open.count })
        }
    }
}
