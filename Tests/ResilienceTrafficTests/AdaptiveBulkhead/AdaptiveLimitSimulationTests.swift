import Foundation
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

/// A service with this many workers and a queue before them, behind adaptive limits: in simulated time, event by event.
struct LimitedService {
    /// The results of one stretch of time.
    struct Stretch {
        /// The time-weighted mean of all limits, and the throughput, both relative to the workers' capacity.
        var limit = 0.0
        var throughput = 0.0
        /// The first limit's baseline relative to the service time.
        var baseline = 0.0
    }

    private struct Event {
        enum Kind { case arrival, done, rejected, cut }
        let time: Double
        let kind: Kind
        let began: Double
        let client: Int
        var call = 0
    }

    /// A class, because without optimization copies would take most of the time.
    private final class Client {
        var machine: AdaptiveLimitStateMachine
        var permits: Int
        var inUse = 0
        var waiting = 0

        init(_ limit: AdaptiveLimit) {
            machine = AdaptiveLimitStateMachine(limit)
            permits = machine.permits
        }
    }

    /// Events in order of time.
    private struct Line {
        private var events: [Event] = []
        private var head = 0

        var first: Event? { head < events.count ? events[head] : nil }
        mutating func append(_ event: Event) { events.append(event) }

        mutating func removeFirst() {
            head += 1
            guard head > 10_000 else { return }
            events.removeFirst(head)
            head = 0
        }
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

    private var clients: [Client]
    private var generator: SeededGenerator
    private var events: [Event] = []
    private var queue = Line()
    /// Clients wait equally long for each call: apart from the other events these come in order.
    private var cuts = Line()
    private var calls = 0
    /// Calls that a client still awaits; with a timeout.
    private var awaited: Set<Int> = []
    private var busy = 0
    private var inside = 0
    private var now = 0.0

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
        generator = SeededGenerator(seed: seed)
        for client in clients.indices { push(Event(time: 0, kind: .arrival, began: 0, client: client)) }
    }

    /// Continues until this many seconds have passed in all.
    mutating func run(until end: Double) -> Stretch {
        var stretch = Stretch()
        let start = now
        while let event = next(before: end) {
            let limits = Double(clients.reduce(0) { $0 + $1.permits })
            stretch.limit += limits / Double(capacity(now)) * (event.time - now)
            now = event.time
            if handle(event) { stretch.throughput += serviceTime(now) / Double(capacity(now)) }
            admit(clients[event.client], event.client)
        }
        stretch.limit /= end - start
        stretch.throughput /= end - start
        stretch.baseline = (clients[0].machine.baseline ?? 0) / 1e9 / serviceTime(now)
        return stretch
    }

    /// - Returns: Whether a call was answered in time.
    private mutating func handle(_ event: Event) -> Bool {
        let client = clients[event.client]
        switch event.kind {
        case .arrival:
            // At most 64 wait; the others are turned away.
            client.waiting = min(64, client.waiting + 1)
            let rate = Double(capacity(now)) / serviceTime(now) * load / Double(clients.count)
            let gap = -log(1 - Double.random(in: 0..<1, using: &generator)) / rate
            push(Event(time: now + gap, kind: .arrival, began: 0, client: event.client))
            return false
        case .done:
            busy -= 1
            serve()
            if timeout != nil, awaited.remove(event.call) == nil { return false }
            ended(.success, event, client)
        case .rejected: ended(.overload, event, client)
        case .cut:
            if awaited.remove(event.call) == nil { return false }
            ended(.cut, event, client)
        }
        inside -= 1
        client.inUse -= 1
        return event.kind == .done
    }

    private func ended(_ end: AdaptiveLimitStateMachine.End, _ event: Event, _ client: Client) {
        _ = client.machine.ended(
            end, began: Int64(event.began * 1e9), at: Int64(now * 1e9), inUse: client.inUse)
        client.permits = client.machine.permits
    }

    private mutating func admit(_ client: Client, _ index: Int) {
        while client.inUse < client.permits, client.waiting > 0 {
            client.waiting -= 1
            client.inUse += 1
            inside += 1
            if let rejectsAbove, Double(inside) > Double(capacity(now)) * rejectsAbove {
                push(Event(time: now + serviceTime(now) / 10, kind: .rejected, began: now, client: index))
            } else {
                calls += 1
                if let timeout {
                    awaited.insert(calls)
                    cuts.append(Event(time: now + timeout, kind: .cut, began: now, client: index, call: calls))
                }
                if hanging > 0, Double.random(in: 0..<1, using: &generator) < hanging { continue }
                queue.append(Event(time: now, kind: .done, began: now, client: index, call: calls))
                serve()
            }
        }
    }

    private mutating func serve() {
        while busy < capacity(now), let next = queue.first {
            queue.removeFirst()
            busy += 1
            let time = now + times.next(&generator) * serviceTime(now)
            push(Event(time: time, kind: .done, began: next.began, client: next.client, call: next.call))
        }
    }

    private mutating func next(before end: Double) -> Event? {
        let first = events[0]
        if let cut = cuts.first, cut.time < first.time, cut.time < end {
            cuts.removeFirst()
            return cut
        }
        guard first.time < end else { return nil }
        pop()
        return first
    }

    /// A heap: the first event is the earliest. There is always one, the next arrival.
    private mutating func push(_ event: Event) {
        events.append(event)
        var index = events.count - 1
        while index > 0 {
            let parent = events[(index - 1) / 2]
            guard parent.time > event.time else { break }
            events[index] = parent
            index = (index - 1) / 2
        }
        events[index] = event
    }

    private mutating func pop() {
        let last = events.removeLast()
        let count = events.count
        guard count > 0 else { return }
        var index = 0
        while case let left = 2 * index + 1, left < count {
            var (child, earlier) = (left, events[left])
            if left + 1 < count, case let right = events[left + 1], right.time < earlier.time {
                (child, earlier) = (left + 1, right)
            }
            guard earlier.time < last.time else { break }
            events[index] = earlier
            index = child
        }
        events[index] = last
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
    private func stretches(_ scenario: Case, _ length: Double, rejectsAbove: Double? = nil) -> [LimitedService.Stretch]
    {
        let service = Double(scenario.milliseconds) / 1000
        let full = scenario.capacity
        var all = [LimitedService.Stretch](repeating: LimitedService.Stretch(), count: 3)
        var world = LimitedService(
            [scenario.settings], scenario.times, load: 2, seed: 1, rejectsAbove: rejectsAbove,
            serviceTime: { _ in service }
        ) { length...(2 * length) ~= $0 ? full / 2 : full }
        for index in all.indices {
            _ = world.run(until: length * (Double(index) + 0.5))
            all[index] = world.run(until: length * Double(index + 1))
        }
        let text = all.map { String(format: "%.2f (%.2f)", $0.limit, $0.throughput) }.joined(separator: ", ")
        print("\(scenario.testDescription): limit (throughput) in parts of the capacity: \(text)")
        return all
    }

    @Test(
        "a gradient's limit is within 10 % of the capacity or two permits, Vegas's within 15 %, even after the capacity changes",
        arguments: cases)
    func converges(scenario: Case) {
        let stretches = stretches(scenario, length(scenario))
        for (stretch, capacity) in zip(stretches, [1, 0.5, 1].map { $0 * Double(scenario.capacity) }) {
            #expect(abs(stretch.limit - 1) <= max(scenario.limit == "vegas" ? 0.15 : 0.1, 2 / capacity), "\(stretch)")
            #expect(stretch.throughput > 0.92, "\(stretch)")
        }
    }

    @Test(
        "if a service without a queue answers with 429s, AIMD follows its capacity",
        arguments: [10, 100, 1000].map { Case(limit: "aimd", capacity: 20, milliseconds: $0, times: .uniform) })
    func aimd(scenario: Case) {
        let stretches = stretches(scenario, 2 * length(scenario), rejectsAbove: 1)
        for stretch in stretches { #expect(abs(stretch.limit - 1) <= 0.15, "\(stretch)") }
    }

    @Test(
        "with widely varied latencies a gradient costs at most a fifth of the throughput",
        arguments: [20, 100].flatMap { capacity in
            [ServiceTimes.exponential, .heavy].map {
                Case(limit: "gradient", capacity: capacity, milliseconds: 100, times: $0)
            }
        })
    func uneven(scenario: Case) {
        for stretch in stretches(scenario, 3 * length(scenario)) {
            #expect(stretch.throughput > 0.8 && stretch.limit < 1.3, "\(stretch)")
        }
    }

    @Test("after hours of overload the limit and the baseline are unchanged (P57)", arguments: [1.1, 1.5, 5])
    func longIncident(load: Double) {
        var world = LimitedService(
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
        var world = LimitedService(
            [.gradient(in: 1...1000)], .uniform, load: 0.5, seed: 1, serviceTime: { 600...1200 ~= $0 ? 0.3 : 0.1 },
            capacity: { _ in 20 })
        for minute in 1...30 {
            let stretch = world.run(until: Double(minute) * 60)
            #expect(stretch.throughput > 0.35 && stretch.limit > 0.5, "\(minute): \(stretch)")
        }
    }

    @Test("five clients of one service keep its queue within one and a half times its capacity")
    func fleet() {
        var world = LimitedService(
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
        var world = LimitedService(
            [settings], .uniform, load: 1.5, seed: 1, timeout: 1, serviceTime: { _ in 0.02 },
            capacity: { 120...720 ~= $0 ? 2 : 40 })
        for minute in 1...20 {
            let stretch = world.run(until: Double(minute) * 60)
            print(limit, minute, stretch)
            // The first minute of each state is for adaptation.
            guard ![1, 3, 4, 13, 14].contains(minute) else { continue }
            #expect(stretch.throughput > 0.7, "\(minute): \(stretch)")
        }
    }

    @Test(
        "if some calls hang under any limit, the limit stays near what the calls need",
        arguments: [0.05, 0.125, 0.3].flatMap { share in ["gradient", "vegas"].map { ($0, share) } })
    func hanging(limit: String, share: Double) {
        let settings = Case(limit: limit, capacity: 200, milliseconds: 20, times: .uniform).settings
        var world = LimitedService(
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
        var world = LimitedService(
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
        var world = LimitedService(
            [settings], .fixed, load: 2, seed: 1, timeout: timeout * 0.02,
            serviceTime: { _ in 0.02 }, capacity: { _ in 10 })
        _ = world.run(until: 30)
        let stretch = world.run(until: 120)
        print(limit, timeout, stretch)
        #expect(stretch.throughput > least, "\(stretch)")
    }
}
