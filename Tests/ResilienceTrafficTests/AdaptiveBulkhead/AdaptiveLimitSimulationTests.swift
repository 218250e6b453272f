import Foundation
import ResilienceSimulation
import ResilienceTesting
import TestSupport
import Testing

@testable import Resilience
@testable import ResilienceTraffic

/// How long calls take without queueing.
enum ServiceTimes: String, Sendable, CaseIterable {
    case fixed, uniform, exponential
    /// One call in twenty takes eleven times as long.
    case heavy

    /// With a mean of 1.
    func next(_ generator: inout SeededGenerator) -> Double {
        let share = Double.random(in: 0..<1, using: &generator)
        switch self {
        case .fixed: return 1
        case .uniform: return 0.5 + share
        case .exponential: return -log(1 - share)
        case .heavy: return (share < 0.05 ? 11 : 0.5 + Double.random(in: 0..<1, using: &generator)) / 1.5
        }
    }
}

/// A service with this many workers and a queue before them, behind adaptive limits.
final class LimitedService {
    /// The results of one stretch of time.
    struct Stretch {
        /// The time-weighted mean of all limits, and the throughput, both relative to the workers' capacity.
        var limit = 0.0
        var throughput = 0.0
        /// The first limit's baseline relative to the service time.
        var baseline = 0.0
    }

    private final class Client {
        var machine: AdaptiveLimitStateMachine
        var inUse = 0
        var waiting = 0

        init(_ limit: AdaptiveLimit) { machine = AdaptiveLimitStateMachine(limit) }
    }

    private final class Call {
        let client: Client
        let began: MonotonicInstant
        var isAwaited = true
        var cut: Simulation.Event?

        init(_ client: Client, at began: MonotonicInstant) { (self.client, self.began) = (client, began) }
    }

    let capacity: (_ time: Double) -> Int
    let serviceTime: (_ time: Double) -> Double
    let times: ServiceTimes
    /// The arriving calls, relative to the workers' capacity.
    let load: Double
    /// Above this multiple of the capacity in calls, the service answers 429 after a tenth of the service time.
    var rejectsAbove: Double?
    /// After this many seconds a client stops waiting. The service still works on the call.
    var timeout: Double?
    /// The share of calls that are never answered, and occupy no worker.
    var hanging = 0.0

    private let simulation = Simulation()
    private let start: MonotonicInstant
    private let clients: [Client]
    private var generator: SeededGenerator
    private var queue: ArraySlice<Call> = []
    private var busy = 0
    private var inside = 0
    private var stretch = Stretch()
    /// The time up to which the stretch's limit is known.
    private var counted = 0.0

    init(
        _ limits: [AdaptiveLimit], _ times: ServiceTimes, load: Double, seed: UInt64, rejectsAbove: Double? = nil,
        timeout: Double? = nil, hanging: Double = 0,
        serviceTime: @escaping (Double) -> Double, capacity: @escaping (Double) -> Int
    ) {
        clients = limits.map { Client($0) }
        self.times = times
        self.load = load
        self.rejectsAbove = rejectsAbove
        self.timeout = timeout
        self.hanging = hanging
        self.serviceTime = serviceTime
        self.capacity = capacity
        start = simulation.now
        generator = SeededGenerator(seed: seed)
        for client in clients { arrive(client) }
    }

    /// In seconds.
    private var now: Double { Double(simulation.now.nanoseconds - start.nanoseconds) / 1e9 }

    private func after(_ seconds: Double, _ action: @escaping () -> Void) -> Simulation.Event {
        simulation.after(.nanoseconds(Int64(seconds * 1e9)), action)
    }

    /// Continues until this many seconds have passed in all.
    func run(until end: Double) -> Stretch {
        let begin = now
        stretch = Stretch()
        simulation.run(until: start + .nanoseconds(Int64(end * 1e9)))
        countLimit()
        stretch.limit /= end - begin
        stretch.throughput /= end - begin
        stretch.baseline = (clients[0].machine.baseline ?? 0) / 1e9 / serviceTime(now)
        return stretch
    }

    private func countLimit() {
        let limits = Double(clients.reduce(0) { $0 + $1.machine.permits })
        stretch.limit += limits / Double(capacity(counted)) * (now - counted)
        counted = now
    }

    private func arrive(_ client: Client) {
        // At most 64 wait; the others are turned away.
        client.waiting = min(64, client.waiting + 1)
        let rate = Double(capacity(now)) / serviceTime(now) * load / Double(clients.count)
        _ = after(-log(1 - Double.random(in: 0..<1, using: &generator)) / rate) { [unowned self] in arrive(client) }
        admit(client)
    }

    private func admit(_ client: Client) {
        while client.inUse < client.machine.permits, client.waiting > 0 {
            client.waiting -= 1
            client.inUse += 1
            inside += 1
            let call = Call(client, at: simulation.now)
            if let rejectsAbove, Double(inside) > Double(capacity(now)) * rejectsAbove {
                _ = after(serviceTime(now) / 10) { [unowned self] in ended(call, .overload) }
                continue
            }
            if let timeout { call.cut = after(timeout) { [unowned self] in ended(call, .cut) } }
            if hanging > 0, Double.random(in: 0..<1, using: &generator) < hanging { continue }
            queue.append(call)
            serve()
        }
    }

    private func serve() {
        while busy < capacity(now), let call = queue.popFirst() {
            busy += 1
            _ = after(times.next(&generator) * serviceTime(now)) { [unowned self] in
                busy -= 1
                serve()
                if call.isAwaited { ended(call, .success) }
            }
        }
    }

    private func ended(_ call: Call, _ end: AdaptiveLimitStateMachine.End) {
        countLimit()
        call.isAwaited = false
        if let cut = call.cut { simulation.cancel(cut) }
        if end == .success { stretch.throughput += serviceTime(now) / Double(capacity(now)) }
        let client = call.client
        _ = client.machine.ended(
            end, began: call.began.nanoseconds, at: simulation.now.nanoseconds, inUse: client.inUse)
        inside -= 1
        client.inUse -= 1
        admit(client)
    }
}

/// Adaptive limits against services of known capacity.
@Suite(.heavy) struct AdaptiveLimitSimulationTests {
    struct Case: Sendable, CustomTestStringConvertible {
        let limit: String
        let capacity: Int
        let milliseconds: Int
        let times: ServiceTimes
        /// The tolerance of a gradient. The default is for services with varied calls.
        var tolerance = 0.1

        var settings: AdaptiveLimit {
            switch limit {
            case "gradient": .gradient(in: 1...1000, tolerance: tolerance)
            case "vegas": .vegas(in: 1...1000)
            default: .aimd(in: 1...1000)
            }
        }

        var testDescription: String { "\(limit), \(capacity) at \(milliseconds) ms, \(times)" }
    }

    static let cases = ["gradient", "vegas"].flatMap { limit in
        [(20, 10), (20, 100), (20, 1000), (100, 100), (100, 1000)].flatMap { capacity, milliseconds in
            [ServiceTimes.fixed, .uniform].map {
                Case(limit: limit, capacity: capacity, milliseconds: milliseconds, times: $0, tolerance: 0.05)
            }
        }
    }

    /// In seconds: a few hundred windows, and not too many calls.
    private func length(_ scenario: Case) -> Double { 20 + Double(scenario.milliseconds) * 0.2 }

    /// Three stretches of this length: with the full capacity, with half of it, and with the full capacity again. Only
    /// the second half of each stretch counts.
    /// - Returns: The median limit and throughput of each stretch, of three runs: while it searches, one run may be far
    ///   from the capacity. The least throughput of the last stretch is that of the worst run.
    private func stretches(
        _ scenario: Case, _ length: Double, rejectsAbove: Double? = nil
    ) -> (medians: [LimitedService.Stretch], least: Double) {
        let service = Double(scenario.milliseconds) / 1000
        let full = scenario.capacity
        let runs = (1...(scenario.times == .fixed ? 1 : UInt64(3))).map { seed in
            let world = LimitedService(
                [scenario.settings], scenario.times, load: 2, seed: seed, rejectsAbove: rejectsAbove,
                serviceTime: { _ in service }
            ) { length...(2 * length) ~= $0 ? full / 2 : full }
            return (0..<3).map { index in
                _ = world.run(until: length * (Double(index) + 0.5))
                return world.run(until: length * Double(index + 1))
            }
        }
        func median(_ values: [Double]) -> Double { values.sorted()[values.count / 2] }
        let medians = (0..<3).map { index in
            LimitedService.Stretch(
                limit: median(runs.map { $0[index].limit }), throughput: median(runs.map { $0[index].throughput }))
        }
        let text = medians.map { String(format: "%.2f (%.2f)", $0.limit, $0.throughput) }.joined(separator: ", ")
        print("\(scenario.testDescription): limit (throughput) in parts of the capacity: \(text)")
        return (medians, runs.map { $0[2].throughput }.min() ?? 0)
    }

    @Test(
        "in the median run a gradient's limit is within 10 % of the capacity or two permits, Vegas's within 15 %, even after the capacity changes",
        arguments: cases)
    func converges(scenario: Case) {
        let (medians, least) = stretches(scenario, length(scenario))
        for (stretch, capacity) in zip(medians, [1, 0.5, 1].map { $0 * Double(scenario.capacity) }) {
            #expect(abs(stretch.limit - 1) <= max(scenario.limit == "vegas" ? 0.15 : 0.1, 2 / capacity), "\(stretch)")
            #expect(stretch.throughput > 0.92, "\(stretch)")
        }
        #expect(least > 0.8)
    }

    @Test(
        "if a service without a queue answers with 429s, AIMD follows its capacity",
        arguments: [10, 100, 1000].map { Case(limit: "aimd", capacity: 20, milliseconds: $0, times: .uniform) })
    func aimd(scenario: Case) {
        let (medians, _) = stretches(scenario, 2 * length(scenario), rejectsAbove: 1)
        for stretch in medians { #expect(abs(stretch.limit - 1) <= 0.15, "\(stretch)") }
    }

    @Test(
        "with widely varied latencies a gradient costs, in the median run, at most a tenth of the throughput",
        arguments: [20, 100].flatMap { capacity in
            [ServiceTimes.exponential, .heavy].map {
                Case(limit: "gradient", capacity: capacity, milliseconds: 100, times: $0)
            }
        })
    func uneven(scenario: Case) {
        let (medians, least) = stretches(scenario, 3 * length(scenario))
        for stretch in medians { #expect(stretch.throughput > 0.9 && stretch.limit < 1.3, "\(stretch)") }
        #expect(least > 0.8)
    }

    @Test("after hours of overload the limit and the baseline are unchanged (P57)", arguments: [1.1, 1.5, 5])
    func longIncident(load: Double) {
        let world = LimitedService(
            [.gradient(in: 1...1000)], .uniform, load: load, seed: 1, serviceTime: { _ in 1 }, capacity: { _ in 20 })
        _ = world.run(until: 600)
        for hour in 1...2 {
            let stretch = world.run(until: Double(hour) * 3600)
            #expect((0.95...1.15).contains(stretch.limit), "\(stretch)")
            #expect((0.95...1.1).contains(stretch.baseline) && stretch.throughput > 0.95, "\(stretch)")
        }
    }

    @Test(
        "a service that gets three times slower for ten minutes keeps its throughput, then regains its limit"
    )
    func slower() {
        let world = LimitedService(
            [.gradient(in: 1...1000)], .uniform, load: 0.5, seed: 1, serviceTime: { 600...1200 ~= $0 ? 0.3 : 0.1 },
            capacity: { _ in 20 })
        for minute in 1...30 {
            let stretch = world.run(until: Double(minute) * 60)
            #expect(stretch.throughput > 0.35 && stretch.limit > 0.5, "\(minute): \(stretch)")
        }
    }

    @Test("five clients of one service keep its queue within one and a half times its capacity")
    func fleet() {
        let world = LimitedService(
            Array(repeating: .gradient(in: 1...1000), count: 5), .uniform, load: 1.3, seed: 1,
            serviceTime: { _ in 0.5 },
            capacity: { _ in 50 })
        _ = world.run(until: 120)
        let stretch = world.run(until: 1200)
        #expect((1...2.5).contains(stretch.limit) && stretch.throughput > 0.95, "\(stretch)")
    }

    @Test(
        "if the service keeps working on timed-out calls, the limit falls to its capacity, and recovers",
        arguments: ["gradient", "vegas", "aimd"])
    func timeouts(limit: String) {
        let settings = Case(limit: limit, capacity: 40, milliseconds: 20, times: .uniform).settings
        let world = LimitedService(
            [settings], .uniform, load: 1.5, seed: 1, timeout: 1, serviceTime: { _ in 0.02 },
            capacity: { 120...420 ~= $0 ? 2 : 40 })
        for minute in 1...12 {
            let stretch = world.run(until: Double(minute) * 60)
            print(limit, minute, stretch)
            // The first minute of each state is for adaptation.
            guard ![1, 3, 4, 8, 9].contains(minute) else { continue }
            #expect(stretch.throughput > 0.7, "\(minute): \(stretch)")
        }
    }

    @Test(
        "if some calls hang under any limit, the limit stays near what the calls need",
        arguments: [0.05, 0.125, 0.3].flatMap { share in ["gradient", "vegas"].map { ($0, share) } })
    func hanging(limit: String, share: Double) {
        let settings = Case(limit: limit, capacity: 200, milliseconds: 20, times: .uniform).settings
        let world = LimitedService(
            [settings], .uniform, load: 0.2, seed: 1, timeout: 1, hanging: share, serviceTime: { _ in 0.02 },
            capacity: { _ in 200 })
        _ = world.run(until: 30)
        let stretch = world.run(until: 180)
        print(limit, share, stretch)
        #expect(stretch.throughput > 0.6 * 0.2 * (1 - share), "\(stretch)")
    }

    @Test(
        "with x % of calls hanging for an hour, the limit leaves room for the other calls and does not sink with time (P59)",
        arguments: [0.01, 0.05, 0.1, 0.2, 0.4, 0.6])
    func hangingForHours(share: Double) {
        // Eight concurrent calls, and the calls that hang for a second.
        let world = LimitedService(
            [.gradient(in: 1...1000)], .uniform, load: 0.2, seed: 1, timeout: 1, hanging: share,
            serviceTime: { _ in 0.2 }, capacity: { _ in 40 })
        _ = world.run(until: 300)
        var stretches: [LimitedService.Stretch] = []
        for hour in 1...4 { stretches.append(world.run(until: 300 + Double(hour) * 825)) }
        print("\(share * 100) % hanging: \(stretches.map { String(format: "%.2f (%.3f)", $0.limit, $0.throughput) })")
        for stretch in stretches { #expect(stretch.throughput > 0.6 * 0.2 * (1 - share), "\(stretch)") }
    }

    @Test(
        "if an overload from the start causes only timeouts, the limit falls until calls get answers",
        arguments: [("gradient", 4.0, 0.7), ("vegas", 4.0, 0.7), ("aimd", 4.0, 0.7), ("gradient", 1.2, 0.35)])
    func fromTheStart(limit: String, timeout: Double, least: Double) {
        var settings = Case(limit: limit, capacity: 10, milliseconds: 20, times: .fixed).settings
        settings.initial = 100
        let world = LimitedService(
            [settings], .fixed, load: 2, seed: 1, timeout: timeout * 0.02,
            serviceTime: { _ in 0.02 }, capacity: { _ in 10 })
        _ = world.run(until: 30)
        let stretch = world.run(until: 120)
        print(limit, timeout, stretch)
        #expect(stretch.throughput > least, "\(stretch)")
    }
}
