import Foundation
import Resilience
import ResilienceTesting
import Testing

@testable import ResilienceSync

@Suite struct LanesStateMachineTests {
    typealias Step = LanesStateMachine.Step

    private var machine = LanesStateMachine(pageSize: 3, mostHeld: 3)
    private var rules = LanesStateMachine.Rules(batchLimits: ["one": 1, "many": 3], otherKinds: nil, oldest: nil)

    private static func instant(_ nanoseconds: Int64) -> MonotonicInstant { MonotonicInstant(nanoseconds: nanoseconds) }

    private let a = LaneHead(1, "a")
    private let b = LaneHead(2, "b")
    private let c = LaneHead(3, "c")

    private mutating func next(at now: Int64 = 0, _ pace: SendPace.Answer = .now) -> Step {
        machine.next(at: Self.instant(now), pace: pace, rules: rules)
    }

    private static func wait(_ nanoseconds: Int64 = .max) -> Step { .wait(until: instant(nanoseconds)) }

    private static func stalled(_ nanoseconds: Int64) -> Step { .stalled(until: instant(nanoseconds)) }

    /// The machine finds these heads, and then that there are no others.
    private mutating func find(_ heads: LaneHead...) {
        machine.found(heads)
        machine.found([])
    }

    private mutating func hold(_ lane: String, until nanoseconds: Int64) {
        machine.hold(lane, until: Self.instant(nanoseconds))
    }

    // MARK: Looking

    @Test("heads are sent in the order they are found, page after page until a page is empty (C7)")
    mutating func pages() {
        machine.found([a, b, c])
        #expect([next(), next(), next()] == [.send([a]), .send([b]), .send([c])])
        #expect(machine.busy == ["a", "b", "c"])
        #expect(next() == .look(after: 3))
        let d = LaneHead(8, "d")
        machine.found([d])
        #expect(next() == .send([d]))
        #expect(next() == .look(after: 8))
        machine.found([])
        #expect(next() == Self.wait())
    }

    @Test("a page of the last possible positions is followed by one more look (C7)")
    mutating func lastPosition() {
        machine.found([LaneHead(.max, "z")])
        _ = next()
        #expect(next() == .look(after: .max))
    }

    @Test("mutations that may have appeared behind the search are looked for once, when the end is reached")
    mutating func lookAgain() {
        machine.found([a])
        machine.lookAgain()
        #expect(next() == .send([a]))
        #expect(next() == .look(after: 1))
        machine.found([])
        #expect(next() == .look(after: .min))
        machine.found([])
        #expect(next() == Self.wait())
    }

    @Test("found heads are sent before the next look")
    mutating func foundFirst() {
        find(a, b)
        machine.lookAgain()
        #expect([next(), next(), next()] == [.send([a]), .send([b]), .look(after: .min)])
    }

    @Test(
        "a flush continues where the last one stopped, and drops the found heads, except those in flight or held back"
    )
    mutating func begin() {
        machine.found([a, b])
        #expect(next() == .send([a]))
        hold("c", until: 10)
        machine.begin()
        // "b" was found, and is looked for again.
        #expect(next() == .look(after: 1))
        find(c)
        // Then the machine looks from the start.
        #expect(next() == .look(after: .min))
        find(c)
        #expect(next() == Self.wait(10))
        #expect(machine.busy == ["a"])
        machine.ended(["a"])
        machine.begin()
        #expect(next() == .look(after: .min))
        machine.found([])
        #expect(next() == Self.stalled(10))
    }

    @Test("after a page, looks at the part behind alternate with looks at the next pages, whether or not these end")
    mutating func behind() {
        let later = (4...9).map { LaneHead($0, "lane \($0)") }
        machine.found([a, b, c])
        #expect([next(), next(), next()] == [.send([a]), .send([b]), .send([c])])
        machine.ended(["a", "b", "c"])
        #expect(next() == .look(after: 3))
        machine.found(Array(later[..<3]))
        #expect(next() == .send([later[0]]))
        // All but one head of the previous page are gone, and one lane has a next mutation.
        #expect(next() == .look(after: .min))
        let second = LaneHead(10, "b")
        machine.found([a, later[0], later[1]])
        #expect([next(), next(), next()] == [.send([a]), .send([later[1]]), .send([later[2]])])
        machine.ended(["a"])
        #expect(next() == .look(after: 6))
        machine.found([later[3], later[4], second])
        #expect(next() == .send([later[3]]))
        #expect(next() == .look(after: .min))
        machine.found([a])
        #expect([next(), next()] == [.send([a]), .send([later[4]])])
    }

    @Test("with one request per flush, a first head that always fails leaves every second turn to others")
    mutating func oneEach() {
        var sent: [String] = []
        var pending = [a, b, c]
        for _ in 0..<5 {
            machine.begin()
            step: while true {
                switch next() {
                case .look(let position):
                    machine.found(Array(pending.filter { $0.position > position }.prefix(3)))
                case .send(let heads):
                    sent.append(heads[0].entity)
                    if heads[0].entity != "a" { pending.removeAll { $0.entity == heads[0].entity } }
                    machine.ended([heads[0].entity])
                    break step
                default:
                    break step
                }
            }
        }
        #expect(sent == ["a", "b", "a", "c", "a"])
    }

    @Test("while other lanes wait, however far behind, only one request in four goes to a lane that failed before")
    mutating func othersFirst() {
        let failed = (1...6).map { LaneHead($0, "failed \($0)", failures: 1) }
        let others = (7...9).map { LaneHead($0, "other \($0)") }
        machine.found(Array(failed[..<3]))
        #expect([next(), next()] == [.send([failed[0]]), .look(after: 3)])
        machine.found(Array(failed[3...]))
        #expect(next() == .look(after: 6))
        machine.found(Array(others[..<2]))
        #expect([next(), next()] == [.send([others[0]]), .send([others[1]])])
        // Another mutation may have been enqueued since.
        #expect(next() == .look(after: 8))
        machine.found([])
        #expect(next() == .send([failed[1]]))
        machine.lookAgain()
        #expect(next() == .look(after: 8))
        find(others[2])
        #expect([next(), next(), next()] == [.send([others[2]]), .send([failed[2]]), .send([failed[3]])])
    }

    @Test("a batch begins with a head without failures; a head without a handler is parked even among failed heads")
    mutating func othersFirstInBatch() {
        let (unknown, many) = (LaneHead(3, "c", "unknown"), [4, 5].map { LaneHead($0, "\($0)", "many") })
        find(LaneHead(1, "a", failures: 1), LaneHead(2, "b", "many", failures: 1), unknown, many[0], many[1])
        #expect(next() == .send([LaneHead(1, "a", failures: 1)]))
        #expect([next(), next()] == [.park(unknown, .noHandler), .send(many)])
    }

    /// A store with lanes that always fail, and others behind them; four concurrent requests of 50 ms, and holds of a
    /// second that double up to a minute.
    /// - Returns: The seconds from the arrival of the others until all of them are delivered, and the number of
    ///   requests.
    private func behindFailing(_ failing: Int64, others: Int64, after: Int64) -> (seconds: Int64, requests: Int) {
        var lanes = LanesStateMachine(pageSize: 30)
        var failures = [Int64: Int](uniqueKeysWithValues: (1...failing).map { ($0, 0) })
        var waiting: Set<Int64> = []
        var (now, requests, isThere): (Int64, Int, Bool) = (0, 0, false)
        var flights: [(head: LaneHead, endsAt: Int64)] = []
        lanes.begin()
        while !isThere || !waiting.isEmpty {
            if !isThere, now >= after * 1_000 {
                (requests, isThere) = (0, true)
                waiting = Set(failing + 1...failing + others)
                lanes.lookAgain()
            }
            var wake = isThere ? Int64.max : after * 1_000
            let pace = flights.count < 4 ? SendPace.Answer.now : .afterAnEnd
            switch lanes.next(at: Self.instant(now), pace: pace, rules: rules) {
            case .send(let heads):
                flights += heads.map { ($0, now + 50) }
                requests += 1
                continue
            case .look(let position):
                let found = (Array(failures.keys) + waiting).filter { $0 > position }.sorted().prefix(30)
                lanes.found(found.map { LaneHead($0, "\($0)", failures: failures[$0] ?? 0) })
                continue
            case .stalled(let instant):
                wake = min(wake, instant.nanoseconds)
                lanes.begin()
            case .wait(let instant):
                wake = min(wake, instant.nanoseconds)
            case .park, .done:
                break
            }
            now = min(wake, flights.map(\.endsAt).min() ?? .max)
            for (head, _) in flights.filter({ $0.endsAt <= now }) {
                lanes.ended([head])
                if waiting.remove(head.position) == nil {
                    failures[head.position, default: 0] += 1
                    lanes.hold(head, until: Self.instant(now + min(60_000, 1_000 << Int64(min(10, head.failures)))))
                } else {
                    lanes.delivered()
                }
            }
            flights.removeAll { $0.endsAt <= now }
        }
        return ((now - after * 1_000) / 1_000, requests)
    }

    @Test(
        "ten lanes behind ten pages of failing lanes are soon delivered, whether enqueued with them or after them",
        arguments: [(0, 20, 420), (20, 5, 20), (60, 5, 20), (300, 30, 20)] as [(Int64, Int64, Int)])
    func behindFailing(after: Int64, seconds: Int64, requests: Int) {
        let took = behindFailing(300, others: 10, after: after)
        #expect(took.seconds <= seconds && took.requests <= requests, "\(took)")
    }

    // MARK: Urgent lanes

    private let urgent = (21...23).map { LaneHead($0, "urgent \($0)") }

    @Test("the store is asked for urgent heads between pages only if some are known, and after the found heads")
    mutating func lookForUrgent() {
        machine.found([a, b, c])
        machine.lookAgain()
        #expect(next() == .send([a]))
        machine.knowsUrgent = true
        machine.lookAgain()
        #expect(next(.afterAnEnd) == Self.wait(), "not while nothing may go")
        // It looks until the answer comes: meanwhile the store may learn something.
        #expect([next(), next()] == [.look(after: .max), .look(after: .max)])
        machine.found([], urgent: Array(urgent[..<2]))
        machine.lookAgain()
        #expect([next(), next(), next()] == [.send([urgent[0]]), .send([urgent[1]]), .look(after: .max)])
        machine.found([], urgent: urgent)
        #expect([next(), next()] == [.send([urgent[2]]), .send([b])])
        // The lane of this mutation may still be urgent.
        machine.ended([urgent[1]])
        #expect(next() == .look(after: .max))
        machine.found([])
        #expect([next(), next()] == [.send([c]), .look(after: 3)])
        machine.found([])
        machine.ended([a])
        #expect(next() == .look(after: .min), "that lane was not urgent")
    }

    @Test("an urgent lane that failed goes first when its time has come, but no more often than other failed lanes")
    mutating func urgentFailed() {
        machine.found([a, b, c], urgent: [urgent[0]])
        #expect(next() == .send([urgent[0]]))
        machine.ended([urgent[0]])
        machine.hold(urgent[0], until: Self.instant(5))
        #expect(next() == .look(after: .max))
        let failed = LaneHead(21, "urgent 21", failures: 1)
        machine.found([], urgent: [failed])
        #expect([next(), next(at: 5)] == [.send([a]), .look(after: .max)])
        machine.found([], urgent: [failed])
        #expect(next(at: 5) == .send([failed]))
        machine.ended([failed])
        #expect(next(at: 5) == .look(after: .max))
        machine.found([], urgent: [failed])
        #expect([next(at: 5), next(at: 5)] == [.send([b]), .send([c])])
    }

    @Test("urgent heads go together, are parked once, and are found again by the next flush")
    mutating func urgentTogether() {
        let many = (1...3).map { LaneHead($0, "\($0)", "many") }
        let unknown = LaneHead(4, "d", "unknown")
        machine.found(many, urgent: [many[1], many[2], unknown])
        #expect([next(), next()] == [.send([many[1], many[2]]), .park(unknown, .noHandler)])
        #expect(machine.hasHeads)
        machine.found([unknown, LaneHead(5, "e")])
        machine.begin()
        #expect(!machine.hasHeads)
        #expect(next() == .look(after: 0))
        machine.found([many[0]], urgent: [LaneHead(5, "e")])
        #expect([next(), next()] == [.send([LaneHead(5, "e")]), .look(after: 1)])
    }

    // MARK: One at a time

    @Test(
        "removing a mutation frees its lane if the lane is held for this mutation, and has no limit of its own",
        arguments: [(1, false, true), (2, false, false), (1, true, false)] as [(Int64, Bool, Bool)])
    mutating func removed(position: Int64, isLimited: Bool, isFree: Bool) {
        machine.found([a])
        #expect(next() == .send([a]))
        machine.ended([a])
        machine.hold(a, until: Self.instant(10))
        machine.removed(LaneHead(position, "a"), isLimited: isLimited)
        #expect(machine.held.isEmpty == isFree)
        guard isFree else { return }
        find(LaneHead(3, "a"))
        #expect(next() == .send([LaneHead(3, "a")]))
    }

    @Test("removing a suspect lets the next mutation of its lane go at once, whatever else is in flight")
    mutating func removedSuspect() {
        machine.found([b, LaneHead(4, "a", claims: 2)])
        #expect(next() == .send([b]))
        #expect(next() == .look(after: 4))
        machine.found([])
        #expect(next() == Self.wait())
        machine.removed(LaneHead(4, "a", claims: 2), isLimited: false)
        guard case .look = next() else { return #expect(Bool(false)) }
        find(LaneHead(5, "a"))
        #expect(next() == .send([LaneHead(5, "a")]))
    }

    // MARK: Holding back

    @Test(
        "a held lane is sent at the instant, and not a nanosecond before",
        arguments: [1, 10, .max, .min + 1] as [Int64])
    mutating func holdBoundary(until: Int64) {
        hold("a", until: until)
        find(a)
        #expect(next(at: until - 1) == Self.stalled(until))
        #expect(machine.held == ["a": Self.instant(until)])
        #expect(next(at: until) == .look(after: .min))
        #expect(machine.held == [:])
        find(a)
        #expect(next(at: until) == .send([a]))
    }

    @Test("with a page of held lanes, no other lane is tried until one of them is released")
    mutating func tooManyHeld() {
        find(a, LaneHead(5, "e"))
        #expect(next() == .send([a]))
        hold("b", until: 10)
        hold("c", until: 12)
        hold("d", until: 11)
        #expect(next() == Self.wait(10))
        machine.ended(["a"])
        #expect(next() == Self.stalled(10))
        #expect(next(at: 10) == .send([LaneHead(5, "e")]))
    }

    // MARK: Pace

    @Test(
        "while the pace allows nothing, nothing is sent until its instant or a hold's end, whichever is earlier",
        arguments: [
            (.notBefore(instant(5)), nil, 5), (.notBefore(instant(5)), 9, 5), (.notBefore(instant(5)), 3, 3),
            (.notBefore(.distantFuture), nil, .max), (.afterAnEnd, nil, .max), (.afterAnEnd, 9, 9),
        ] as [(SendPace.Answer, Int64?, Int64)])
    mutating func pace(answer: SendPace.Answer, held: Int64?, until: Int64) {
        find(a, b)
        if let held { hold("c", until: held) }
        #expect(next(at: 0, answer) == Self.wait(until))
        #expect(machine.busy == [])
        #expect([next(), next(at: 0, answer), next()] == [.send([a]), Self.wait(until), .send([b])])
    }

    @Test("at any pace, the machine looks, parks, and notices that nothing is left")
    mutating func paceOfNothing() {
        let expired = LaneHead(1, "a", queuedAt: 0)
        rules.oldest = Date(timeIntervalSinceReferenceDate: 1)
        let answer = SendPace.Answer.notBefore(Self.instant(5))
        #expect(next(at: 0, answer) == .look(after: .min))
        find(expired)
        #expect(next(at: 0, answer) == .park(expired, .expired))
        #expect(next(at: 0, answer) == .look(after: 0))
        machine.found([])
        #expect(next(at: 0, answer) == .done)
    }

    // MARK: Mutations that can't be sent

    @Test("a handler of other kinds takes the kinds without their own handler, as many mutations at once as it can")
    mutating func otherKinds() {
        rules.otherKinds = 2
        let unknown = [
            LaneHead(1, "a", "x"), LaneHead(2, "b", "y"), LaneHead(3, "c", "x"), LaneHead(4, "d", "one"),
        ]
        machine.found(unknown)
        machine.found([])
        #expect(next() == .send([unknown[0], unknown[2]]))
        #expect([next(), next()] == [.send([unknown[1]]), .send([unknown[3]])])
    }

    @Test("a head exactly at the age limit is sent; an older head is parked", arguments: [(10, false), (9.999, true)])
    mutating func expired(queuedAt: Double, isExpired: Bool) {
        rules.oldest = Date(timeIntervalSinceReferenceDate: 10)
        let head = LaneHead(1, "a", queuedAt: queuedAt)
        find(head)
        #expect(next() == (isExpired ? .park(head, .expired) : .send([head])))
        #expect(next() == (isExpired ? .look(after: 0) : Self.wait()))
    }

    // MARK: Batches

    struct Batch: CustomTestStringConvertible {
        let testDescription: String
        let heads: [LaneHead]
        let sent: [[Int64]]
    }

    @Test(
        "batches are of one kind, at most one per lane, up to the limit, in order",
        arguments: [
            Batch(
                testDescription: "up to the limit", heads: (1...7).map { LaneHead($0, "\($0)", "many") },
                sent: [[1, 2, 3], [4, 5, 6], [7]]),
            Batch(
                testDescription: "of one kind",
                heads: [
                    LaneHead(1, "a", "many"), LaneHead(2, "b"), LaneHead(3, "c", "many"), LaneHead(4, "d"),
                    LaneHead(5, "e", "many"),
                ],
                sent: [[1, 3, 5], [2], [4]]),
            Batch(
                testDescription: "one of a lane",
                heads: [LaneHead(1, "a", "many"), LaneHead(2, "a", "many"), LaneHead(3, "b", "many")], sent: [[1, 3]]),
            Batch(
                testDescription: "a failed one goes alone",
                heads: [LaneHead(1, "a", "many", failures: 1), LaneHead(2, "b", "many"), LaneHead(3, "c", "many")],
                sent: [[1], [2, 3]]),
            Batch(
                testDescription: "a failed one joins nobody",
                heads: [LaneHead(1, "a", "many"), LaneHead(2, "b", "many", failures: 1), LaneHead(3, "c", "many")],
                sent: [[1, 3], [2]]),
            Batch(testDescription: "singles alone", heads: [LaneHead(1, "a"), LaneHead(2, "b")], sent: [[1], [2]]),
        ])
    mutating func batches(_ batch: Batch) {
        machine.found(batch.heads)
        machine.found([])
        var sent: [[Int64]] = []
        for _ in batch.heads {
            if case .send(let heads) = next() { sent.append(heads.map(\.position)) }
        }
        #expect(sent == batch.sent)
        #expect(machine.busy.count == sent.joined().count)
    }

    @Test("a batch never exceeds its bytes, and a mutation that exceeds them goes alone")
    mutating func bytes() {
        rules.batchLimits["many"] = BatchLimit(count: 3, bytes: 10)
        machine.found([4, 20, 6, 1, .max].enumerated().map { LaneHead(Int64($0), "\($0)", "many", bytes: $1) })
        machine.found([])
        let sent = (0..<4).map { _ -> [Int64] in
            if case .send(let heads) = next() { heads.map(\.position) } else { [] }
        }
        #expect(sent == [[0], [1], [2, 3], [4]])
    }

    @Test("the machine looks for no more heads than fill a batch's bytes, and checks none of them twice")
    mutating func bytesAreFull() {
        rules.batchLimits["many"] = BatchLimit(count: .max, bytes: 10)
        machine.found((0..<10).map { LaneHead($0, "\($0)", "many", bytes: 4) })
        for batch in 0..<4 {
            guard case .send(let heads) = next() else { return #expect(Bool(false), "batch \(batch) is looked for") }
            #expect(heads.map(\.position) == [Int64(batch * 2), Int64(batch * 2 + 1)])
        }
        #expect(next() == .look(after: 9))
    }

    @Test("before a batch that is not full is sent, the machine looks for more heads, whatever the page size")
    mutating func fuller() {
        machine = LanesStateMachine(pageSize: 2, mostHeld: 2)
        rules.batchLimits["many"] = 5
        let heads = (1...5).map { LaneHead($0, "\($0)", "many") }
        machine.found(Array(heads[..<2]))
        #expect(next() == .look(after: 2))
        machine.found(Array(heads[2..<4]))
        #expect(next() == .look(after: 4))
        machine.found([heads[4]])
        #expect(next() == .send(heads))
        #expect(next() == .look(after: 5))
    }

    @Test("a batch that is full, or is at the end, does not wait for a look")
    mutating func fullEnough() {
        let heads = (1...5).map { LaneHead($0, "\($0)", "many") }
        machine.found(Array(heads[..<3]))
        #expect(next() == .send(Array(heads[..<3])))
        machine.found(Array(heads[3...]))
        #expect(next() == .look(after: 5))
        machine.found([])
        #expect(next() == .send(Array(heads[3...])))
    }

    @Test("an expired head is not sent with others, and is parked at its turn")
    mutating func expiredInBatch() {
        rules.oldest = Date(timeIntervalSinceReferenceDate: 10)
        let new = [1, 3].map { LaneHead($0, "\($0)", "many", queuedAt: 10) }
        let old = LaneHead(2, "2", "many", queuedAt: 9)
        find(new[0], old, new[1])
        #expect([next(), next()] == [.send(new), .park(old, .expired)])
    }
}

/// For lanes whose next head may be anywhere.
extension LanesStateMachine {
    fileprivate mutating func ended(_ lanes: [String]) { ended(lanes.map { LaneHead(.min, $0) }) }

    fileprivate mutating func hold(_ lane: String, until instant: MonotonicInstant) {
        hold(LaneHead(.min, lane), until: instant)
    }
}
