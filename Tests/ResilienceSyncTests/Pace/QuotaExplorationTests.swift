import Resilience
import ResilienceTesting
import TestSupport
import Testing

@testable import ResilienceSync

/// A pace, and a server with a fixed window that reports its remaining quota. Requests and answers arrive in any order.
private struct HonestServer: ExplorableMachine {
    enum Input: Hashable {
        case send, wait
        /// This request among those in flight reaches the server, or its answer arrives.
        case arrive(Int)
        case answer(Int)
    }

    private struct Flight: Hashable {
        let number: Int
        let sentAt: MonotonicInstant
        /// The remaining quota, and when the server counted it.
        var counted: (left: Int, at: MonotonicInstant)?

        static func == (one: Flight, other: Flight) -> Bool { one.number == other.number }
        func hash(into hasher: inout Hasher) { hasher.combine(number) }
    }

    private static let length: Int64 = 1_000_000_000

    private var machine: SendPace
    private let limit: Int
    private let maxInFlight: Int
    private var now = MonotonicInstant(nanoseconds: 0)
    private var flights: [Flight] = []
    private var sent = 0
    private var window: Int64 = 0
    private var count = 0

    init(limit: Int, maxInFlight: Int) {
        (self.limit, self.maxInFlight) = (limit, maxInFlight)
        machine = SendPace(maxInFlight: maxInFlight)
    }

    private var answer: SendPace.Answer { machine.answer(at: now, inFlight: flights.count) }

    var inputs: [Input] {
        (answer == .now ? [.send, .send] : []) + [.wait]
            + flights.indices.map { flights[$0].counted == nil ? .arrive($0) : .answer($0) }
    }

    mutating func apply(_ input: Input) throws {
        switch input {
        case .send:
            // A shortened history may contain a request that the pace does not allow.
            guard answer == .now else { return }
            machine.sent(at: now, beside: flights.count)
            sent += 1
            flights.append(Flight(number: sent, sentAt: now))
        case .wait:
            now = now + .milliseconds(130)
        case .arrive(let place):
            guard flights.indices.contains(place), flights[place].counted == nil else { return }
            let current = now.nanoseconds / Self.length
            if current > window { (window, count) = (current, 0) }
            count += 1
            try require(count <= limit, "the server answers 429")
            flights[place].counted = (limit - count, now)
        case .answer(let place):
            guard flights.indices.contains(place), let counted = flights[place].counted else { return }
            let flight = flights.remove(at: place)
            let reset = Duration.nanoseconds(Self.length - counted.at.nanoseconds % Self.length)
            let quota = ServerQuota(limit: limit, remaining: counted.left, resetsAfter: reset)
            machine.note(quota, from: flight.number, of: sent, at: now)
            machine.acknowledged(sentAt: flight.sentAt, at: now)
        }
        switch answer {
        case .now: try require(flights.count < maxInFlight, "one too many would be in flight")
        case .afterAnEnd: try require(!flights.isEmpty, "it waits for the end of nothing")
        case .notBefore(let instant):
            try require(now.duration(to: instant) <= .seconds(2), "it waits until \(instant) at \(now)")
            try require(machine.answer(at: instant, inFlight: 0) == .now, "when it said to come back it does not send")
        }
    }
}

/// A pace, and a server that reports anything.
private struct Liar: ExplorableMachine {
    enum Input: Hashable {
        case send, waitForIt, wait
        case end(Int, End)
        case tell(Told, name: String, isKnown: Bool)
        case resume(keepingRate: Bool)
    }

    enum End: Hashable, CaseIterable {
        case acknowledged, throttled, failed
    }

    struct Told: Hashable {
        var limit: Int?
        var left: Int?
        var reset: Duration?
        var window: Duration?
    }

    private struct Flight: Hashable {
        let number: Int
        let sentAt: MonotonicInstant
    }

    static let maxPause = Duration.seconds(100)
    private static let words: [Told] = [
        Told(left: 0, reset: .seconds(1)), Told(left: 0, reset: .zero), Told(left: 0, reset: .seconds(-9)),
        Told(left: 0, reset: .seconds(Int64.max)), Told(left: 0), Told(left: -1, reset: .nanoseconds(1)),
        Told(limit: 0, left: 0, reset: .seconds(2), window: .zero), Told(limit: 10, left: 99, reset: .seconds(3)),
        Told(limit: .max, left: .max, reset: .seconds(5), window: .nanoseconds(1)), Told(limit: -5, left: .min),
        Told(limit: 8, left: 1, reset: .seconds(60), window: .seconds(60)), Told(left: 3), Told(limit: 4),
        Told(limit: 8, left: 2, reset: .seconds(4), window: .seconds(Int64.max)), Told(),
    ]

    private var machine = SendPace(maxInFlight: 3, maxPause: maxPause)
    private var now: MonotonicInstant
    private var flights: [Flight] = []
    private var sent = 0

    init(start: Int64) { now = MonotonicInstant(nanoseconds: start) }

    private var answer: SendPace.Answer { machine.answer(at: now, inFlight: flights.count) }

    var inputs: [Input] {
        var inputs: [Input] =
            answer == .now ? Array(repeating: .send, count: 20) : Array(repeating: .waitForIt, count: 5)
        inputs.append(.wait)
        for place in flights.indices {
            for end in End.allCases { inputs.append(.end(place, end)) }
            inputs += Array(repeating: .end(place, .acknowledged), count: 10)
        }
        for word in Self.words {
            inputs.append(.tell(word, name: "a", isKnown: true))
            inputs.append(.tell(word, name: "b\(sent)", isKnown: false))
        }
        inputs += [.resume(keepingRate: true), .resume(keepingRate: false)]
        return inputs
    }

    mutating func apply(_ input: Input) throws {
        switch input {
        case .send:
            // A shortened history may contain a request that the pace does not allow.
            guard answer == .now else { return }
            machine.sent(at: now, beside: flights.count)
            sent += 1
            flights.append(Flight(number: sent, sentAt: now))
        case .waitForIt:
            if case .notBefore(let instant) = answer { now = instant } else { now = now + .milliseconds(50) }
        case .wait:
            now = now + .seconds(1)
        case .end(let place, let end):
            guard flights.indices.contains(place) else { return }
            let flight = flights.remove(at: place)
            machine.endedUntold(at: now)
            switch end {
            case .acknowledged: machine.acknowledged(sentAt: flight.sentAt, at: now)
            case .throttled:
                _ = machine.throttled(sentAt: flight.sentAt, retryAfter: nil, backoff: .seconds(1), at: now)
            case .failed: machine.endedOtherwise(sentAt: flight.sentAt, at: now)
            }
        case .tell(let told, let name, let isKnown):
            let quota = ServerQuota(
                name: name, limit: told.limit, remaining: told.left, resetsAfter: told.reset, window: told.window)
            let number = isKnown ? flights.first?.number ?? max(1, sent - 3) : nil
            machine.note(quota, from: number, of: sent, at: now)
        case .resume(let keepingRate):
            machine.resumed(keepingRate: keepingRate, after: sent, at: now)
            try require(machine.silentUntil(at: now) == nil, "a silence outlasts its end by hand")
        }
        if let rate = machine.rate { try require(rate > 0 && rate <= 1e9, "the rate is \(rate)") }
        switch answer {
        case .now: try require(flights.count < 3, "one too many would be in flight")
        case .afterAnEnd: try require(!flights.isEmpty, "it waits for the end of nothing")
        case .notBefore(let instant):
            try require(instant > now || now == .distantFuture, "it says to wait until \(instant) at \(now)")
            try require(now.duration(to: instant) <= Self.maxPause * 3, "it waits \(now.duration(to: instant))")
            let then = machine.answer(at: instant, inFlight: 0)
            try require(then == .now || instant == .distantFuture, "when it said to come back it says \(then)")
        }
    }
}

@Suite(.heavy) struct QuotaExplorationTests {
    @Test(
        "a server that reports its quota never answers 429, in any order of requests and answers",
        arguments: [(2, 2), (3, 3), (4, 3), (5, 8)])
    func honest(limit: Int, maxInFlight: Int) throws {
        let explorer = Explorer(
            HonestServer(limit: limit, maxInFlight: maxInFlight),
            code: "HonestServer(limit: \(limit), maxInFlight: \(maxInFlight))")
        #expect(try explorer.exploreAll(depth: 11, transitions: 30_000 * Effort.level).transitions >= 5_000)
        for seed in UInt64(1)...20 { try explorer.exploreRandomly(length: 1_000, seed: seed) }
    }

    @Test(
        "whatever quota a server reports, the pace can continue, and never waits longer than the longest pause",
        arguments: [0, -5, .min, .max - 5_000_000_000, .max - 5] as [Int64])
    func liar(start: Int64) throws {
        let explorer = Explorer(Liar(start: start), code: "Liar(start: \(start))")
        for seed in UInt64(1)...20 { try explorer.exploreRandomly(length: 1_000, seed: seed) }
    }
}
