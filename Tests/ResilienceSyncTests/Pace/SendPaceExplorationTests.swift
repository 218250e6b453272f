import Resilience
import ResilienceTesting
import TestSupport
import Testing

@testable import ResilienceSync

/// A pace compared with its sent requests and its pauses.
private struct RecordedPace: ExplorableMachine {
    enum Input: Hashable {
        case send
        /// Time passes until the pace allows sending, or for a while if the pace waits for a request's end.
        case waitForIt
        case wait(Duration)
        /// How the request at this place in flight ends.
        case acknowledge(Int)
        case throttle(Int, retryAfter: Duration?)
        case fail(Int)
        case pause(Duration)
        case endPause(keepingRate: Bool)
    }

    private struct Flight {
        let number: Int
        let sentAt: MonotonicInstant
    }

    private(set) var machine: SendPace
    private let maxInFlight: Int
    private let waits: [Duration]
    private var now: MonotonicInstant
    private var flights: [Flight] = []
    private var sent = 0
    private var latest = MonotonicInstant.distantPast
    private var pausedUntil: MonotonicInstant?
    /// The number of the only request sent since a pause, until it is acknowledged.
    private var probe: Int?
    private var isProbeDue = false
    private var longestWait = Duration.seconds(1)

    init(maxInFlight: Int, start: Int64 = 0, waits: [Duration], startingRate: Double? = nil) {
        machine = SendPace(maxInFlight: maxInFlight)
        if let startingRate {
            machine = SendPace(maxInFlight: maxInFlight, startingRate: startingRate)
            longestWait = max(longestWait, .seconds(min(1 / startingRate, 9e9)))
        }
        self.maxInFlight = maxInFlight
        self.waits = waits
        now = MonotonicInstant(nanoseconds: start)
    }

    private var answer: SendPace.Answer { machine.answer(at: now, inFlight: flights.count) }

    var inputs: [Input] {
        var inputs: [Input] = answer == .now ? [.send] : []
        inputs +=
            [.waitForIt, .endPause(keepingRate: false), .endPause(keepingRate: true)]
            + waits.flatMap { [.wait($0), .pause($0)] }
        for place in flights.indices.prefix(2) {
            inputs += [.acknowledge(place), .acknowledge(place), .fail(place), .throttle(place, retryAfter: nil)]
            inputs += waits.map { .throttle(place, retryAfter: $0) }
        }
        return inputs
    }

    mutating func apply(_ input: Input) throws {
        switch input {
        case .send:
            machine.sent(at: now)
            if isProbeDue { (probe, isProbeDue) = (sent, false) }
            flights.append(Flight(number: sent, sentAt: now))
            latest = now
            sent += 1
        case .waitForIt:
            if case .notBefore(let instant) = answer { now = instant } else { now = now + .milliseconds(50) }
        case .wait(let duration):
            now = now + max(.zero, duration)
        case .acknowledge(let place):
            let flight = flights.remove(at: place)
            machine.acknowledged(sentAt: flight.sentAt, at: now)
            if flight.number == probe { probe = nil }
        case .throttle(let place, let retryAfter):
            let flight = flights.remove(at: place)
            let until = machine.throttled(
                sentAt: flight.sentAt, retryAfter: retryAfter, backoff: retryAfter == nil ? .seconds(1) : nil, at: now)
            let expected = max(now + max(.milliseconds(1), retryAfter ?? .seconds(1)), silentUntil ?? now)
            if retryAfter == nil, machine.rate != nil {
                // With a known rate, the silence may be shorter than the backoff.
                let least = max(now + .milliseconds(1), silentUntil ?? now)
                try require(until >= least && until <= expected, "the end of the pause is \(until)")
            } else {
                try require(until, is: expected, "the end of the pause")
            }
            pause(until: until)
        case .fail(let place):
            let flight = flights.remove(at: place)
            machine.endedOtherwise(sentAt: flight.sentAt, at: now)
            if flight.number == probe { (probe, isProbeDue) = (nil, true) }
        case .pause(let duration):
            machine.paused(until: now + duration)
            pause(until: max(now + duration, silentUntil ?? .distantPast))
        case .endPause(let keepingRate):
            machine.resumed(keepingRate: keepingRate, at: now)
            if isProbeDue {
                pausedUntil = min(now, pausedUntil ?? now)
            } else if probe == nil {
                (pausedUntil, isProbeDue) = (now, true)
            }
            if !keepingRate { try require(machine.rate, is: nil, "the rate") }
            // Two requests sent at the same instant couldn't be distinguished.
            let canSend = flights.isEmpty || (flights.count < maxInFlight && now > latest)
            if canSend, probe == nil {
                // A kept rate may mean that no more can be in flight.
                let isFull = keepingRate && flights.count > 1 && answer == .afterAnEnd
                try require(answer == .now || isFull, "ended by hand, it says \(answer)")
            }
        }
        try check()
    }

    /// The end of a pause after which nothing was sent yet.
    private var silentUntil: MonotonicInstant? { isProbeDue ? pausedUntil : nil }

    private mutating func pause(until: MonotonicInstant) {
        longestWait = max(longestWait, now.duration(to: until))
        (pausedUntil, probe, isProbeDue) = (until, nil, true)
    }

    private func check() throws {
        try require(flights.count <= maxInFlight, "\(flights.count) are in flight")
        switch answer {
        case .now:
            try require(flights.count < maxInFlight, "one too many would be in flight")
            if isProbeDue, let pausedUntil { try require(now >= pausedUntil, "it would send during a pause") }
            try require(probe == nil, "it would send beside a probe")
        case .notBefore(let instant):
            try require(instant > now || now == .distantFuture, "it says to wait until \(instant) at \(now)")
            if isProbeDue, let pausedUntil, now < pausedUntil {
                try require(instant, is: pausedUntil)
            } else {
                // Pacing alone never waits longer than twice the server's own wait, or twice an idle silence of ten
                // seconds. It also stays just below the limit.
                let bound = max(.seconds(10), longestWait) * 2.02
                try require(now.duration(to: instant) <= bound, "it waits \(now.duration(to: instant))")
            }
            // With nothing in flight, the pace sends at the time that it names.
            let then = machine.answer(at: instant, inFlight: 0)
            try require(then == .now || instant == .distantFuture, "when it said to come back it says \(then)")
        case .afterAnEnd:
            try require(!flights.isEmpty, "it waits for the end of nothing")
        }
        if let rate = machine.rate { try require(rate > 0 && rate <= 1e9, "the rate is \(rate)") }
    }
}

@Suite(.heavy) struct SendPaceExplorationTests {
    @Test(
        "in every short history, nothing is sent during a pause, one probe follows, and the pace can always continue",
        arguments: [1, 2])
    func short(maxInFlight: Int) throws {
        let explorer = Explorer(
            RecordedPace(maxInFlight: maxInFlight, waits: [.seconds(1)]),
            code: "RecordedPace(maxInFlight: \(maxInFlight), waits: [.seconds(1)])")
        let exploration = try explorer.exploreAll(depth: 9, transitions: 30_000 * Effort.level)
        #expect(exploration.transitions >= 10_000, "\(exploration)")
    }

    @Test(
        "after any inputs, at any time: nothing is sent in a pause, then one probe, and then sending always resumes",
        arguments: [
            (0, [.milliseconds(100), .seconds(1)]), (0, [.zero, .nanoseconds(1), .seconds(3600)]),
            (-5, [.seconds(-1), .milliseconds(20), .seconds(10)]), (.min, [.nanoseconds(Int64.max / 4)]),
            (.max - 5_000_000_000, [.seconds(1)]), (.max - 5, [.nanoseconds(Int64.max)]),
        ] as [(Int64, [Duration])])
    func walks(start: Int64, waits: [Duration]) throws {
        for (startingRate, seed) in [(nil, 1), (nil, 2), (10, 3), (1.0 / 3600, 4), (1e300, 5)] as [(Double?, UInt64)] {
            let explorer = Explorer(
                RecordedPace(maxInFlight: 4, start: start, waits: waits, startingRate: startingRate),
                code:
                    "RecordedPace(maxInFlight: 4, start: \(start), waits: \(waits), startingRate: \(startingRate as Any))"
            )
            try explorer.exploreRandomly(length: 1_000, seed: seed)
        }
    }
}
