import Foundation
import Resilience
import ResilienceTesting
import Testing

@testable import ResilienceSync

/// The meaning of a request's end.
@Suite struct SyncEndsStateMachineTests {
    typealias Failure = SyncStateMachine.Failure

    private var talk = SyncConversation()

    struct Row: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let failure: Failure
        var mutations = 1
        var failures = 0
        var asked: [SyncConversation.Action] = []
        var changes: [MutationChange] = []
        var events: [SyncEvent] = []
        /// From now.
        let end: @Sendable (MonotonicInstant) -> FlushReport.End

        static func counted(
            _ name: String, _ verdict: Verdict, mutations: Int = 1, failures: Int = 0
        ) -> Row {
            let numbers = 1...mutations
            return Row(
                testDescription: name, failure: Failure(verdict: verdict, error: "no"), mutations: mutations,
                failures: failures, asked: numbers.map { _ in .draw(.failed, retry: failures) },
                changes: numbers.map { .failed(Int64($0), error: "no") },
                events: numbers.map { .failed(id: "m\($0)", failures: failures + 1, error: "no") },
                end: { .stalled(retryAt: $0 + .seconds(1)) })
        }

        static func died(_ name: String, _ verdict: Verdict, failures: Int, counts: Bool) -> Row {
            let parked = MutationChange.died(1, error: "no", rest: .skip)
            return Row(
                testDescription: name, failure: Failure(verdict: verdict, error: "no"), failures: failures,
                changes: counts ? [.failed(1, error: "no"), parked] : [parked],
                events: [.died(id: "m1", error: "no"), .drained], end: { _ in .drained })
        }

        static func paused(
            _ name: String, _ failure: Failure, draws: Bool = false, for length: Duration
        ) -> Row {
            Row(
                testDescription: name, failure: failure,
                asked: (draws ? [.draw(.throttled, retry: 0)] : []) + [.keepPause(length)], changes: [.answered(1)],
                events: [.paused(for: length)], end: { .paused(until: $0 + length) })
        }

        static func offline(_ name: String, _ verdict: Verdict) -> Row {
            Row(
                testDescription: name, failure: Failure(verdict: verdict, error: "no", isOffline: true),
                asked: [.draw(.failed, retry: 0)], changes: [.answered(1)], events: [.offline(error: "no")],
                end: { .offline(retryAt: $0 + .seconds(1)) })
        }

        static let all: [Row] = [
            counted("a transient failure counts, and its lane waits", .transient),
            counted("an uncertain failure counts, and its lane waits", .uncertain),
            counted("an error with the verdict success counts, and its lane waits", .success),
            counted("the fourth failure waits longer", .transient, failures: 3),
            counted("a failed batch counts once against each mutation", .transient, mutations: 2),
            counted("a batch that failed permanently counts: one may be the cause", .permanent, mutations: 2),
            died("the fifth failure is the last", .transient, failures: 4, counts: true),
            died("a failure beyond any count of the store is the last", .transient, failures: .max, counts: true),
            died("a permanent failure makes a mutation dead, uncounted", .permanent, failures: 2, counts: false),
            died(
                "a failure that must not be retried makes a mutation dead, uncounted",
                Verdict(.transient, shouldRetry: false), failures: 2, counts: false),
            counted("a permanent failure that may be retried counts", Verdict(.permanent, shouldRetry: true)),
            Row(
                testDescription: "a failure's named wait is the least, prolonged like a pause",
                failure: Failure(verdict: .transient(retryAfter: .seconds(7)), error: "no"),
                asked: [.draw(.failed, retry: 0)], changes: [.failed(1, error: "no")],
                events: [.failed(id: "m1", failures: 1, error: "no")], end: { .stalled(retryAt: $0 + .seconds(7)) }),
            Row(
                testDescription: "a failure's named wait is cut to the longest pause",
                failure: Failure(verdict: .transient(retryAfter: .seconds(601)), error: "no"),
                asked: [.draw(.failed, retry: 0)], changes: [.failed(1, error: "no")],
                events: [.failed(id: "m1", failures: 1, error: "no")], end: { .stalled(retryAt: $0 + .seconds(600)) }),
            Row(
                testDescription: "a 429 that must not be retried pauses the queue, and makes a mutation dead",
                failure: Failure(
                    verdict: Verdict(.throttled, retryAfter: .seconds(7), shouldRetry: false), error: "no"),
                asked: [.keepPause(.seconds(7))], changes: [.died(1, error: "no", rest: .skip)],
                events: [.paused(for: .seconds(7)), .died(id: "m1", error: "no")],
                end: { .paused(until: $0 + .seconds(7)) }),
            Row(
                testDescription: "a foreign cancellation does not count, and its lane waits",
                failure: Failure(verdict: .cancelled, error: "no"), failures: 2, asked: [.draw(.failed, retry: 2)],
                changes: [.answered(1)],
                end: { .stalled(retryAt: $0 + .seconds(1)) }),
            paused("a 429 pauses for its named wait", .throttled(.seconds(7)), for: .seconds(7)),
            paused("a 429 pauses for the longest pause at most", .throttled(.seconds(601)), for: .seconds(600)),
            paused("a 429 with a past wait waits the backoff", .throttled(.seconds(-1)), draws: true, for: .seconds(1)),
            paused("a 429 without a wait pauses for the backoff", .throttled, draws: true, for: .seconds(1)),
            paused(
                "our own rejection pauses for its wait",
                Failure(verdict: .rejected, error: "no", rejectedFor: .seconds(7)), for: .seconds(7)),
            paused(
                "our own rejection for 0 s pauses 1 ms", Failure(verdict: .rejected, error: "no", rejectedFor: .zero),
                for: .milliseconds(1)),
            paused(
                "our own rejection without a wait pauses for the backoff", Failure(verdict: .rejected, error: "no"),
                draws: true, for: .seconds(1)),
            offline("offline, a failure does not count", .transient),
            offline("offline, a rejection does not count", .rejected),
            paused(
                "offline, a 429 still came from the other side",
                Failure(verdict: .throttled(retryAfter: .seconds(7)), error: "no", isOffline: true), for: .seconds(7)),
        ]
    }

    @Test(
        "a failed request determines what is asked, what store and observers receive, and how the round ends",
        arguments: Row.all)
    mutating func table(_ row: Row) {
        let kind = row.mutations > 1 ? "many" : "one"
        let heads = (1...row.mutations).map {
            LaneHead(Int64($0), "lane\($0)", kind, failures: row.failures)
        }
        talk.heads = heads
        _ = talk.machine.triggered(at: talk.now)
        guard case .apply(_, let positions) = talk.next() else { return #expect(Bool(false), "nothing is sent") }
        let requests = talk.apply(positions)
        talk.events = []
        talk.fail(requests[0], row.failure)
        let course = talk.course()
        let end = row.end(talk.now)
        #expect(course == SyncConversation.Course(asked: row.asked, changes: row.changes, last: .end(end)))
        _ = talk.finish()
        #expect(talk.events == row.events)
    }

    @Test("delivered mutations are reported once the store knows them, and the report counts what happened")
    mutating func delivered() {
        let requests = talk.send(LaneHead(1, "a"))
        #expect(talk.events == [.attempted(id: "m1")])
        talk.end(requests[0], nil)
        #expect(talk.next() == .apply([.acknowledged(1)], claiming: []))
        #expect(talk.events == [.attempted(id: "m1")] && talk.machine.progress?.total.delivered == 0)
        talk.apply([])
        let finish = talk.finish()
        #expect(talk.events == [.attempted(id: "m1"), .delivered(id: "m1"), .drained])
        #expect(finish?.end == .drained && finish?.after == .rest(until: nil))
        #expect(finish?.counts == FlushReport.Counts(requests: 1, delivered: 1))
    }

    @Test("each mutation of a batch follows its own result, and all 429s of one request count as one")
    mutating func batch() {
        let heads = (1...3).map { LaneHead(Int64($0), "lane\($0)", "many") }
        let first = talk.send(heads[0], heads[1], heads[2])[0]
        #expect(first.mutations == heads && talk.machine.inFlight == 3)
        talk.events = []
        talk.end(first, nil, .throttled(.seconds(5)), .throttled(.seconds(9)))
        let course = talk.course()
        #expect(course.asked == [.keepPause(.seconds(5)), .keepPause(.seconds(9))])
        #expect(course.changes == [.acknowledged(1), .answered(2), .answered(3)])
        #expect(course.last == .end(.paused(until: talk.now + .seconds(9))))
        let counts = talk.finish()?.counts
        #expect(counts == FlushReport.Counts(requests: 1, throttled: 1, delivered: 1))
        #expect(talk.events == [.paused(for: .seconds(5)), .paused(for: .seconds(9)), .delivered(id: "m1")])

        talk.now = talk.now + .seconds(9)
        let second = talk.send(heads[1], heads[2])[0]
        talk.end(second, .gone, .unavailable)
        #expect(
            talk.course().changes == [.died(2, error: "410", rest: .skip), .failed(3, error: "503")])
        #expect(talk.machine.progress?.total == FlushReport.Counts(requests: 1, failed: 1, died: 1))
    }

    @Test(
        "a success after a 429 in a batch ends the series of 429s: the next counts as the first, with its wait (B5)",
        arguments: [nil, Duration.milliseconds(200)])
    mutating func madeUpFor(named: Duration?) {
        func throttled() -> SyncStateMachine.Failure { named.map { .throttled($0) } ?? .throttled }
        let first: [SyncConversation.Action] =
            named.map { [.keepPause($0)] } ?? [.draw(.throttled, retry: 0), .keepPause(.seconds(1))]
        for _ in 0..<2 {
            talk.end(talk.send(LaneHead(1, "a", "many"), LaneHead(2, "b", "many"))[0], throttled(), nil)
            #expect(talk.course().asked == first)
            _ = talk.finish()
            talk.now = talk.now + .seconds(2)
        }
        // A success before the 429 does not end the series.
        for retry in 0..<2 {
            talk.end(talk.send(LaneHead(1, "a", "many"), LaneHead(2, "b", "many"))[0], nil, throttled())
            #expect(talk.course().asked == first, "\(retry)")
            _ = talk.finish()
            talk.now = talk.now + .seconds(2)
        }
        talk.end(talk.send(LaneHead(1, "a"))[0], throttled())
        #expect(talk.course().asked.first == .draw(.throttled, retry: 1))
    }

    @Test("a shorter pause within a longer one changes nothing, and is not reported")
    mutating func shorter() {
        let requests = talk.send(LaneHead(1, "a"), LaneHead(2, "b"))
        talk.end(requests[0], .throttled(.seconds(9)))
        talk.end(requests[1], .throttled(.seconds(5)))
        #expect(talk.course().asked == [.keepPause(.seconds(9))])
        #expect(talk.machine.pausedUntil(at: talk.now) == talk.now + .seconds(9))
    }

    @Test("a named wait is kept unchanged; if another 429 follows it, it was too short, and grows (P44)")
    mutating func namedAgain() {
        let named = Duration.milliseconds(200)
        var asked: [[SyncConversation.Action]] = []
        for wait in [named, .seconds(1), .seconds(1)] {
            talk.end(talk.send(LaneHead(1, "a"))[0], .throttled(named))
            asked.append(talk.course().asked)
            _ = talk.finish()
            talk.now = talk.now + wait
        }
        #expect(
            asked == [
                [.keepPause(named)], [.draw(.throttled, retry: 1), .keepPause(.seconds(1))],
                [.draw(.throttled, retry: 2), .keepPause(.seconds(1))],
            ])
        // A success ends the series.
        talk.end(talk.send(LaneHead(1, "a"))[0], nil)
        _ = talk.finish()
        talk.end(talk.send(LaneHead(2, "a"))[0], .throttled(named))
        #expect(talk.course().asked == [.keepPause(named)])
    }

    @Test("429s of one burst without a named wait count as one; those of the next burst wait longer (P46)")
    mutating func volleys() {
        let volley = talk.send(LaneHead(1, "a"), LaneHead(2, "b"))
        for request in volley { talk.end(request, .throttled) }
        #expect(talk.course().asked == [.draw(.throttled, retry: 0), .keepPause(.seconds(1))])
        _ = talk.finish()
        talk.now = talk.now + .seconds(1)
        let probe = talk.send(LaneHead(1, "a"))
        talk.end(probe[0], .throttled)
        #expect(talk.course().asked == [.draw(.throttled, retry: 1), .keepPause(.seconds(1))])
        _ = talk.finish()
        talk.now = talk.now + .seconds(1)
        talk.end(talk.send(LaneHead(1, "a"))[0], nil)
        _ = talk.finish()
        talk.end(talk.send(LaneHead(3, "a"))[0], .throttled)
        #expect(talk.course().asked.first == .draw(.throttled, retry: 0))
    }

    @Test(
        "an outage counts once for all requests it ends, and each further outage waits longer, until a success")
    mutating func outages() {
        let requests = talk.send(LaneHead(1, "a"), LaneHead(2, "b"))
        talk.end(requests[0], .unreachable)
        talk.end(requests[1], .unreachable)
        #expect(talk.course().asked == [.draw(.failed, retry: 0)])
        #expect(talk.finish()?.after == .rest(until: talk.now + .seconds(1)))
        talk.end(talk.send(LaneHead(1, "a"))[0], .unreachable)
        #expect(talk.course().asked == [.draw(.failed, retry: 1)])
        _ = talk.finish()
        talk.end(talk.send(LaneHead(1, "a"))[0], nil)
        _ = talk.finish()
        talk.end(talk.send(LaneHead(2, "a"))[0], .unreachable)
        #expect(talk.course().asked == [.draw(.failed, retry: 0)])
    }

    @Test("during an outage nothing more is sent, and requests in flight may end")
    mutating func outage() {
        let requests = talk.send(
            LaneHead(1, "a"), LaneHead(2, "b"), LaneHead(3, "c"))
        talk.end(requests[0], .unreachable)
        #expect(talk.course().last == .wait(until: talk.now + .seconds(1)))
        talk.end(requests[1], nil)
        let course = talk.course()
        #expect(course.changes == [.acknowledged(2)])
        #expect(course.last == .end(.offline(retryAt: talk.now + .seconds(1))))
    }

    @Test("a pause overrides an outage, since its end is known")
    mutating func pauseBeatsOutage() {
        let requests = talk.send(LaneHead(1, "a"), LaneHead(2, "b"))
        talk.end(requests[0], .unreachable)
        talk.end(requests[1], .throttled(.seconds(9)))
        #expect(talk.course().last == .end(.paused(until: talk.now + .seconds(9))))
    }

    @Test("backoffs of zero still wait a millisecond")
    mutating func noDelay() {
        talk.end(talk.send(LaneHead(1, "a"))[0], .unavailable)
        #expect(talk.next() == .draw(.failed, retry: 0))
        talk.machine.drawn(.zero, at: talk.now)
        #expect(talk.course().last == .end(.stalled(retryAt: talk.now + .milliseconds(1))))
    }

    @Test("an answer to an unknown request is ignored")
    mutating func unknown() {
        let request = talk.send(LaneHead(1, "a"))[0]
        talk.machine.requestEnded(request.id + 1, .answered([nil]), at: talk.now)
        #expect(talk.course().last == .wait(until: .distantFuture))
        talk.end(request, nil)
        talk.end(request, nil)
        #expect(talk.course().changes == [.acknowledged(1)])
    }
}

/// When it sends, and when it stops.
// C1
@Suite struct SyncStateMachineTests {
    private var talk = SyncConversation()
    private let a = LaneHead(1, "a")
    private let b = LaneHead(2, "b")
    private let c = LaneHead(3, "c")

    private mutating func pass(_ duration: Duration) { talk.now = talk.now + duration }

    // MARK: A round

    @Test("a flight reads the pause, looks for heads, claims them, and ends when nothing is left")
    mutating func round() {
        #expect(talk.machine.next(at: talk.now) == .wait(until: .distantFuture))
        #expect(talk.machine.triggered(at: talk.now) == .start)
        #expect(talk.machine.next(at: talk.now) == .lock)
        talk.machine.locked(.taken, at: talk.now)
        #expect(talk.machine.next(at: talk.now) == .readPause)
        talk.machine.pauseRead(left: nil, at: talk.now)
        #expect(talk.machine.next(at: talk.now) == .look(after: .min))
        talk.machine.found([a])
        #expect(talk.machine.next(at: talk.now) == .apply([], claiming: [1]))
        pass(.seconds(1))
        let requests = talk.machine.applied([a], at: talk.now)
        #expect(requests == [SyncStateMachine.Request(id: 1, mutations: [a], sentAt: talk.now)])
        #expect(talk.machine.next(at: talk.now) == .look(after: 1))
        talk.machine.found([])
        #expect(talk.machine.next(at: talk.now) == .wait(until: .distantFuture))
        talk.end(requests[0], nil)
        #expect(talk.finish()?.end == .drained)
        #expect(talk.machine.progress.map { $0.since + .seconds(1) } == talk.now)
    }

    @Test("ended mutations and new claims are in one transaction")
    mutating func together() {
        let first = talk.send(a, b, c)
        #expect(first.map(\.lanes) == [["a"], ["b"]])
        talk.end(first[1], nil)
        #expect(talk.next() == .apply([.acknowledged(2)], claiming: [3]))
    }

    @Test("of a batch only mutations that still exist and have its kind are sent")
    mutating func changedKind() {
        let heads = (1...3).map { LaneHead(Int64($0), "lane\($0)", "many") }
        talk.heads = heads
        _ = talk.machine.triggered(at: talk.now)
        #expect(talk.next() == .apply([], claiming: [1, 2, 3]))
        let requests = talk.machine.applied([heads[0], LaneHead(3, "lane3", "one")], at: talk.now)
        #expect(requests.map(\.mutations) == [[heads[0]]] && talk.machine.lanes.busy == ["lane1"])
    }

    @Test("a single mutation is sent even if its kind has changed")
    mutating func changedKindAlone() {
        talk.heads = [a]
        _ = talk.machine.triggered(at: talk.now)
        _ = talk.next()
        #expect(talk.machine.applied([LaneHead(1, "a", "many")], at: talk.now).count == 1)
    }

    @Test("a mutation without a handler becomes dead, and the queue looks again behind it")
    mutating func parked() {
        talk.heads = [LaneHead(1, "a", "nobody's")]
        _ = talk.machine.triggered(at: talk.now)
        let error = "No handler for its kind."
        #expect(talk.next() == .apply([.died(1, error: error, rest: .skip)], claiming: []))
        talk.heads = [b]
        talk.apply([])
        #expect(talk.next() == .apply([], claiming: [2]))
        #expect(talk.events == [.died(id: "m1", error: error)])
    }

    @Test("mutations that are too old when the machine is asked become dead")
    mutating func expired() {
        talk.begin(pauseLeft: nil)
        _ = talk.machine.next(at: talk.now)
        talk.machine.found([a])
        let action = talk.machine.next(at: talk.now, oldest: a.queuedAt.addingTimeInterval(1))
        #expect(action == .apply([.died(1, error: "It is older than the age limit.", rest: .skip)], claiming: []))
    }

    @Test(
        "if lanes can be blocked, the rest is counted at the end: pending mutations without a head are blocked",
        arguments: [(0, 0, .drained), (2, 0, .blocked), (2, 1, .drained)] as [(Int, Int, FlushReport.End)])
    mutating func blocked(pending: Int, heads: Int, end: FlushReport.End) {
        talk = SyncConversation(laneRule: .block)
        _ = talk.machine.triggered(at: talk.now)
        #expect(talk.next() == .countPending)
        talk.machine.counted(SyncStateMachine.Rest(pending: pending, heads: heads), at: talk.now)
        #expect(talk.finish()?.end == end)
    }

    @Test("a trigger during a round is served in it; a trigger after its end was decided is served by another round")
    mutating func triggers() {
        let request = talk.send(a)[0]
        talk.end(request, nil)
        #expect(talk.course().last == .end(.drained))
        talk.heads = [b]
        #expect(talk.machine.triggered(at: talk.now) == .join)
        let round = talk.machine.roundEnded(.drained, at: talk.now)
        #expect(round.after == .again && round.counts.delivered == 1)
        #expect(talk.next() == .apply([], claiming: [2]))
        talk.end(talk.apply([2])[0], nil)
        #expect(talk.finish()?.counts == FlushReport.Counts(requests: 1, delivered: 1))
        // These counts are of the whole flight.
        #expect(talk.machine.progress?.total == FlushReport.Counts(requests: 2, delivered: 2))
        #expect(talk.events.filter { $0 == .drained }.count == 1)
    }

    // MARK: The sending lock

    @Test("a queue without the lock sends nothing, reports it once, and asks again in a second or when triggered")
    mutating func lockedOut() {
        talk.heads = [a]
        talk.lock = .denied
        _ = talk.machine.triggered(at: talk.now)
        let retryAt = talk.now + .seconds(1)
        #expect(talk.next() == .end(.lockedOut(retryAt: retryAt)))
        #expect(talk.finish()?.after == .rest(until: retryAt))
        #expect(talk.machine.goesOnAt == retryAt)
        #expect(talk.machine.triggered(at: talk.now) == .start)
        #expect(talk.next() == .end(.lockedOut(retryAt: retryAt)))
        _ = talk.finish()
        #expect(talk.events == [.lockedOut])
        talk.lock = .taken
        #expect(talk.send(a).count == 1)
        #expect(talk.events == [.lockedOut, .attempted(id: "m1")])
    }

    @Test(
        "a server's named wait is lengthened by the queue's share, a policy's is not; none exceeds the longest (P55)",
        arguments: [(10.0, 11.0), (590, 600), (1e300, 600)])
    mutating func late(named: Double, length: Double) {
        talk = SyncConversation(lateness: 0.1)
        let flight = talk.send(a)
        let wait = Duration.seconds(min(named, 1e12))
        talk.end(flight[0], SyncStateMachine.Failure(verdict: .throttled(retryAfter: wait), error: "429"))
        #expect(talk.next() == .keepPause(.seconds(length)))
        talk = SyncConversation(lateness: 0.1)
        talk.end(
            talk.send(a)[0], SyncStateMachine.Failure(verdict: .rejected, error: "open", rejectedFor: .seconds(10)))
        #expect(talk.next() == .keepPause(.seconds(10)))
    }

    @Test("a pause that the queue itself stored ends by its own time, whatever the wall clock shows")
    mutating func ownPauseReadAgain() {
        let flight = talk.send(a)
        talk.end(flight[0], SyncStateMachine.Failure(verdict: .throttled(retryAfter: .seconds(60)), error: "429"))
        #expect(talk.next() == .keepPause(.seconds(60)))
        talk.machine.pauseKept(true)
        _ = (talk.next(), talk.finish())
        pass(.seconds(60))
        _ = talk.machine.triggered(at: talk.now)
        talk.machine.locked(.taken, at: talk.now)
        #expect(talk.machine.next(at: talk.now) == .readPause)
        talk.machine.pauseRead(left: .seconds(500), isKnown: true, at: talk.now)
        #expect(talk.next() == .keepPause(nil))
    }

    // MARK: The pause

    @Test("the queue waits for a stored pause, and removes a past or unreadable pause")
    mutating func storedPause() {
        talk.begin(pauseLeft: .seconds(40))
        let until = talk.now + .seconds(40)
        #expect(talk.machine.next(at: talk.now) == .unlock)
        #expect(talk.next() == .end(.paused(until: until)))
        #expect(talk.finish()?.after == .rest(until: until))
        #expect(talk.machine.triggered(at: talk.now) == .paused(until: until))
        #expect(talk.machine.pausedUntil(at: talk.now) == until && talk.machine.goesOnAt == until)
        pass(.seconds(40))
        #expect(talk.machine.triggered(at: talk.now) == .start)
        #expect(talk.next() == .keepPause(nil))
        talk.machine.pauseKept(false)
        #expect(talk.next() == .end(.drained))
    }

    @Test("after a restart in which a stored pause ran out, one request goes first, as after any pause")
    mutating func oneProbeAfterARestart() {
        talk.heads = [a, b]
        talk.begin(pauseLeft: .zero)
        #expect(talk.next() == .keepPause(nil))
        talk.machine.pauseKept(false)
        #expect(talk.next() == .apply([], claiming: [1]))
        talk.end(talk.apply([1])[0], nil)
        #expect(talk.next() == .apply([.acknowledged(1)], claiming: [2]))
    }

    @Test("a stored pause above the longest is cut, and the shorter pause is stored")
    mutating func storedPauseTooLong() {
        _ = talk.machine.triggered(at: talk.now)
        talk.machine.pauseRead(left: .seconds(601), at: talk.now)
        #expect(talk.next() == .keepPause(.seconds(600)))
        talk.machine.pauseKept(true)
        #expect(talk.next() == .end(.paused(until: talk.now + .seconds(600))))
        #expect(talk.events.isEmpty)
    }

    @Test("a stored pause of the longest length is left unchanged")
    mutating func storedPauseLongest() {
        _ = talk.machine.triggered(at: talk.now)
        talk.machine.pauseRead(left: .seconds(600), at: talk.now)
        #expect(talk.next() == .end(.paused(until: talk.now + .seconds(600))))
    }

    @Test("a pause that is missing in the store was ended by another queue")
    mutating func endedByAnother() {
        talk.begin(pauseLeft: .seconds(600))
        #expect(talk.next() == .end(.paused(until: talk.now + .seconds(600))))
        _ = talk.finish()
        talk.machine.pauseRead(left: nil, at: talk.now)
        #expect(talk.machine.pausedUntil(at: talk.now) == nil && talk.machine.triggered(at: talk.now) == .start)
    }

    @Test("a late 429 of the same burst after the pause's end causes the shortest pause (P46)")
    mutating func lateOfTheVolley() {
        let requests = talk.send(a, b)
        talk.end(requests[0], .throttled)
        _ = talk.course()
        pass(.seconds(5))
        talk.end(requests[1], .throttled)
        #expect(talk.course().asked == [.keepPause(.milliseconds(1))])
    }

    @Test("429s teach the server's limit, and our own rejections do not", arguments: [true, false])
    mutating func rate(isOurOwn: Bool) {
        let refused = SyncStateMachine.Failure(verdict: .rejected, error: "open", rejectedFor: .seconds(9))
        for _ in 1...2 {
            talk.end(talk.send(a)[0], nil)
            _ = talk.finish()
            pass(.milliseconds(100))
            talk.end(talk.send(b)[0], isOurOwn ? refused : .throttled(.seconds(9)))
            _ = talk.finish()
            pass(.seconds(9))
        }
        talk.end(talk.send(a)[0], nil)
        _ = talk.finish()
        #expect((talk.machine.pace.rate == nil) == isOurOwn)
    }

    @Test("after a resume by hand, pauses and the waits of failed mutations are over, and all counts restart")
    mutating func resumedLater() {
        talk.end(talk.send(a)[0], .unavailable)
        _ = talk.finish()
        talk.end(talk.send(b)[0], .throttled)
        #expect(talk.finish()?.end == .paused(until: talk.now + .seconds(1)))
        talk.machine.pauseKept(false)
        talk.machine.resumed(at: talk.now)
        talk.heads = [a]
        #expect(talk.machine.triggered(at: talk.now) == .start)
        #expect(talk.next() == .apply([], claiming: [1]))
        talk.end(talk.apply([1])[0], .throttled)
        #expect(talk.next() == .draw(.throttled, retry: 0))
    }

    @Test("after a resume by hand, outages also restart their count")
    mutating func resumedAfterOutage() {
        talk.end(talk.send(a)[0], .unreachable)
        _ = talk.finish()
        talk.machine.resumed(at: talk.now)
        talk.end(talk.send(a)[0], .unreachable)
        #expect(talk.next() == .draw(.failed, retry: 0))
    }

    // MARK: Cancelled, stopped, cleared

    @Test(
        "failures of a cancelled flight's requests do not count, except a 429",
        arguments: [.unavailable, .gone, .unreachable] as [SyncStateMachine.Failure])
    mutating func cancelledFailures(_ failure: SyncStateMachine.Failure) {
        let request = talk.send(a)[0]
        talk.events = []
        talk.machine.cancelled()
        talk.end(request, failure)
        #expect(talk.course() == SyncConversation.Course(changes: [.answered(1)], last: .end(.cancelled)))
        #expect(talk.finish()?.counts == FlushReport.Counts(requests: 1) && talk.events.isEmpty)
    }

    @Test("a 429 in a cancelled flight pauses the whole queue")
    mutating func cancelledThrottle() {
        let request = talk.send(a)[0]
        talk.machine.cancelled()
        talk.end(request, .throttled(.seconds(7)))
        _ = talk.course()
        #expect(talk.machine.pausedUntil(at: talk.now) == talk.now + .seconds(7))
        let finish = talk.finish()
        #expect(finish?.end == .paused(until: talk.now + .seconds(7)) && finish?.counts.throttled == 1)
        #expect(finish?.after == .rest(until: talk.now + .seconds(7)))
    }

    @Test("a pause or an outage from before the cancellation still ends the flight", arguments: [true, false])
    mutating func cancelledInAPause(isPause: Bool) {
        let requests = talk.send(a, b)
        talk.end(requests[0], isPause ? .throttled(.seconds(9)) : .unreachable)
        _ = talk.course()
        talk.machine.cancelled()
        talk.end(requests[1], nil)
        let (pause, outage) = (talk.now + .seconds(9), talk.now + .seconds(1))
        #expect(talk.finish()?.end == (isPause ? .paused(until: pause) : .offline(retryAt: outage)))
    }

    @Test("a clear drops results that are not yet stored, and no flight begins before the clear ends (B9)")
    mutating func cleared() {
        let request = talk.send(a)[0]
        talk.end(request, nil)
        _ = talk.next()
        talk.machine.storeFailed("full", at: talk.now)
        #expect(talk.course().last == .fail)
        _ = talk.machine.flightFailed()
        talk.machine.clearingBegan()
        #expect(talk.machine.triggered(at: talk.now) == .clearing)
        talk.machine.cleared()
        talk.machine.clearingEnded()
        #expect(talk.machine.triggered(at: talk.now) == .start)
        #expect(talk.course() == SyncConversation.Course(last: .end(.drained)))
    }

    // MARK: The store fails

    @Test("results survive a failure of the store, and are stored before anything else")
    mutating func storeFails() {
        talk.end(talk.send(a)[0], nil)
        talk.heads = [b]
        _ = talk.machine.triggered(at: talk.now)
        #expect(talk.next() == .apply([.acknowledged(1)], claiming: []))
        talk.machine.storeFailed("full", at: talk.now)
        #expect(talk.next() == .draw(.failed, retry: 0))
        #expect(talk.events == [.attempted(id: "m1"), .storeFailed(error: "full")])
        talk.machine.drawn(.seconds(1), at: talk.now)
        #expect(talk.next() == .fail)
        #expect(talk.machine.flightFailed() == .triggerAgain)
        #expect(talk.machine.triggered(at: talk.now) == .start)
        #expect(talk.next() == .apply([.acknowledged(1)], claiming: []))
        talk.apply([])
        #expect(talk.next() == .apply([], claiming: [2]))
        #expect(talk.events.filter { $0 == .delivered(id: "m1") }.count == 1)
    }

    @Test("the queue retries a failed store without a trigger, later each time")
    mutating func retriesTheStore() {
        for retry in 0..<3 {
            _ = talk.machine.triggered(at: talk.now)
            _ = talk.next()
            talk.machine.storeFailed("full", at: talk.now)
            #expect(talk.next() == .draw(.failed, retry: retry))
            talk.machine.drawn(.seconds(1), at: talk.now)
            #expect(talk.next() == .fail)
            #expect(talk.machine.flightFailed() == .rest(until: talk.now + .seconds(1)))
            #expect(talk.machine.lastEnd == .offline(retryAt: talk.now + .seconds(1)))
        }
    }

    @Test("a pause that can't be stored still holds; storing it is tried once, and again by the next flight")
    mutating func pauseNotKept() {
        let until = talk.now + .seconds(60)
        talk.end(talk.send(a)[0], .throttled(.seconds(60)))
        #expect(talk.next() == .keepPause(.seconds(60)))
        talk.machine.storeFailed("full", at: talk.now)
        #expect(talk.course().asked == [.draw(.failed, retry: 0)])
        #expect(talk.machine.flightFailed() == .rest(until: talk.now + .seconds(1)))
        #expect(!talk.events.contains(.paused(for: .seconds(60))))
        pass(.seconds(1))
        #expect(talk.machine.triggered(at: talk.now) == .start)
        #expect(talk.next() == .apply([.answered(1)], claiming: []))
        talk.apply([])
        #expect(talk.next() == .keepPause(.seconds(59)))
        talk.machine.pauseKept(true)
        #expect(talk.next() == .end(.paused(until: until)))
    }

    @Test("the first of several failures is reported, and a pause after it is stored if possible")
    mutating func secondFailure() {
        let requests = talk.send(a, b)
        talk.end(requests[0], nil)
        _ = talk.next()
        talk.machine.storeFailed("full", at: talk.now)
        talk.end(requests[1], .throttled(.seconds(60)))
        #expect(talk.next() == .keepPause(.seconds(60)))
        talk.machine.storeFailed("still full", at: talk.now)
        _ = talk.course()
        #expect(talk.events.suffix(1) == [.storeFailed(error: "full")])
    }
}
