import Foundation
import Resilience
import ResilienceTesting
import TestSupport
import Testing

@testable import ResilienceSync

/// The machine at work on a list of mutations, with requests that end in any order. Each state is also drained, to
/// check that everything is sent from there.
private struct LanesOnList: ExplorableMachine, Hashable {
    enum Input: Hashable {
        case append(lane: Int)
        case next, nextAtLimitedPace
        /// The store is read, and its page arrives.
        case read, found
        case ended(request: Int, Outcome)
        case trigger, begin, releaseAll, tick
        /// A parked mutation returns to its place.
        case revive
    }

    enum Outcome: Hashable, CaseIterable { case acknowledged, failed, parked, refused }

    struct Item: Hashable {
        let position: Int64
        let lane: String
        let kind: String
        var failures = 0
        var refusals = 0
        var claims = 0
        /// The mutation is not sent before this time; 0 once the store has noticed that this time has come.
        var due: Int64 = 0
        var isUrgent = false
        var isRevived = false
        /// A trigger has come since it was appended.
        var isAnnounced = false

        var head: LaneHead { LaneHead(position, lane, kind, failures: failures, claims: claims) }
    }

    /// The kinds appended to each lane, in order.
    private static let kinds = [["batched", "batched"], ["batched", "single"], ["single", "nobody's"]]
    private static let rules = LanesStateMachine.Rules(
        batchLimits: ["batched": 2, "single": 1], otherKinds: nil, oldest: nil)

    private var machine: LanesStateMachine
    /// Whether requests may end between the reading of a page and its arrival.
    private let endsWhileReading: Bool
    /// A lane whose mutations have killed processes.
    private let suspectLane: Int?
    /// A lane whose mutations wait for a date, a little later.
    private let delayedLane: Int?
    /// A lane whose second mutation is urgent.
    private let urgentLane: Int?
    private var urgentPage: [LaneHead] = []
    /// The urgent heads last given to the machine, and how many requests in a row went to urgent lanes.
    private var urgent: [LaneHead] = []
    private var hurried = 0
    private var now: Int64 = 0
    private var appended = [0, 0, 0]
    /// In order, including those in flight.
    private var items: [Item] = []
    private var requests: [[Item]] = []
    private var parked: [Item] = []
    private var holds: [String: Int64] = [:]
    private var wanted: Int64?
    private var page: [LaneHead]?
    private var nextDue: Int64?
    /// The next due time that the machine knows.
    private var knownDue: Int64?
    /// Pages in a row with nothing else between.
    private var pages = 0

    init(
        pageSize: Int, endsWhileReading: Bool = false, suspectLane: Int? = nil, delayedLane: Int? = nil,
        urgentLane: Int? = nil
    ) {
        (self.suspectLane, self.delayedLane, self.urgentLane) = (suspectLane, delayedLane, urgentLane)
        machine = LanesStateMachine(pageSize: pageSize, mostHeld: pageSize, mostHurried: 1)
        self.endsWhileReading = endsWhileReading
    }

    var identity: Self? { self }

    var inputs: [Input] {
        var inputs: [Input] = [.trigger, .releaseAll]
        inputs += appended.indices.filter { appended[$0] < Self.kinds[$0].count }.map { .append(lane: $0) }
        if now < 6 { inputs.append(.tick) }
        if parked.contains(where: { !$0.isRevived }) { inputs.append(.revive) }
        if wanted == nil {
            inputs += [.next, .nextAtLimitedPace]
            if requests.isEmpty { inputs.append(.begin) }
        } else {
            inputs.append(page == nil ? .read : .found)
        }
        if wanted == nil || endsWhileReading {
            for (index, request) in requests.enumerated() {
                // Each mutation fails once, and is rejected once; otherwise the run would never end.
                inputs += Outcome.allCases.filter { outcome in
                    request.allSatisfy {
                        outcome != .failed && outcome != .refused || $0.failures + $0.refusals == 0
                    }
                }
                .map { .ended(request: index, $0) }
            }
        }
        return inputs
    }

    mutating func apply(_ input: Input) throws {
        if ![.next, .nextAtLimitedPace, .read, .found].contains(input) { pages = 0 }
        switch input {
        case .append(let lane):
            let kind = Self.kinds[lane][appended[lane]]
            appended[lane] += 1
            let position = Int64(appended.reduce(0, +))
            let claims = lane == suspectLane ? 2 : 0
            items.append(
                Item(
                    position: position, lane: "\(lane)", kind: kind, claims: claims,
                    due: lane == delayedLane ? now + 3 : 0,
                    isUrgent: lane == urgentLane && appended[lane] == 2))
            if items.last?.isUrgent == true { machine.knowsUrgent = true }
        case .next:
            _ = try next(mayGo)
        case .nextAtLimitedPace:
            _ = try next(mayGo == .now ? .notBefore(MonotonicInstant(nanoseconds: now + 1)) : mayGo)
        case .read:
            read()
        case .found:
            try found()
        case .ended(let index, let outcome):
            end(index, outcome)
        case .trigger:
            trigger()
        case .begin:
            machine.begin()
            for index in items.indices { items[index].isAnnounced = true }
        case .releaseAll:
            machine.releaseAll()
            holds = [:]
        case .tick:
            now += 1
        case .revive:
            guard let index = parked.firstIndex(where: { !$0.isRevived }) else { break }
            var item = parked.remove(at: index)
            item.isRevived = true
            items.insert(item, at: items.firstIndex { $0.position > item.position } ?? items.count)
            machine.revived()
            trigger()
        }
        try require(machine.busy, is: Set(requests.joined().map(\.lane)), "what is in flight")
        try drain()
    }

    /// Two requests at a time.
    private var mayGo: SendPace.Answer { requests.count < 2 ? .now : .afterAnEnd }

    private mutating func trigger() {
        machine.lookAgain()
        for index in items.indices { items[index].isAnnounced = true }
    }

    private mutating func read() {
        guard let wanted else { return }
        for index in items.indices where items[index].due <= now { items[index].due = 0 }
        nextDue = items.map(\.due).filter { $0 > 0 }.min()
        var heads: [String: Item] = [:]
        for item in items where heads[item.lane] == nil { heads[item.lane] = item }
        let all = heads.values.filter { $0.due == 0 }.sorted { $0.position < $1.position }
        page = all.filter { $0.position > wanted }.prefix(machine.pageSize).map(\.head)
        urgentPage = all.filter { isUrgent($0.lane) }.prefix(machine.pageSize).map(\.head)
    }

    private mutating func found() throws {
        machine.found(page ?? [], urgent: urgentPage, nextDue: nextDue.map { MonotonicInstant(nanoseconds: $0) })
        urgent = urgentPage
        knownDue = nextDue
        (wanted, page) = (nil, nil)
        pages += 1
        // To the end, over the part behind, and once more from the start; also for urgent heads.
        try require(pages <= 3 * (6 / machine.pageSize + 1) + 1, "it looks for ever")
    }

    private mutating func end(_ index: Int, _ outcome: Outcome) {
        let request = requests.remove(at: index)
        machine.ended(request.map(\.head))
        for item in request {
            for index in items.indices where items[index].position == item.position { items[index].claims = 0 }
            switch outcome {
            case .failed:
                for index in items.indices where items[index].position == item.position { items[index].failures += 1 }
                holds[item.lane] = now + 2
                machine.hold(item.head, until: MonotonicInstant(nanoseconds: now + 2))
            case .refused:
                for index in items.indices where items[index].position == item.position { items[index].refusals += 1 }
                machine.rejected(item.head)
            case .acknowledged, .parked:
                if outcome == .parked { parked.append(item) }
                items.removeAll { $0.position == item.position }
            }
        }
    }

    private mutating func next(_ pace: SendPace.Answer) throws -> LanesStateMachine.Step {
        let step = machine.next(at: MonotonicInstant(nanoseconds: now), pace: pace, rules: Self.rules)
        holds = holds.filter { $0.value > now }
        try require(machine.held, is: holds.mapValues { MonotonicInstant(nanoseconds: $0) }, "what is held back")
        if knownDue.map({ $0 <= now }) == true { knownDue = nil }
        let due = MonotonicInstant(nanoseconds: min(holds.values.min() ?? .max, knownDue ?? .max))
        switch step {
        case .send(let heads):
            try require(pace == .now, "it sends against the pace")
            try send(heads)
        case .park(let head, let reason):
            try require(head.kind == "nobody's" && reason == .noHandler, "it parks \(head) for \(reason)")
            items.removeAll { $0.position == head.position }
        case .look(let position):
            wanted = position
            return step
        case .wait(let instant):
            if case .notBefore(let earliest) = pace {
                try require(instant == due || instant == min(due, earliest), "it waits until \(instant)")
            } else {
                try require(instant, is: due, "what it waits for")
            }
            try require(!requests.isEmpty || instant < .distantFuture, "it waits for ever")
            if pace == .now {
                try require(!requests.isEmpty, "it waits for the end of nothing")
                // A suspect waits for the other requests to end, and they wait for the suspect.
                if !requests.joined().contains(where: \.head.isSuspect) {
                    try requireNothingToSend(but: { $0.head.isSuspect })
                }
            }
        case .stalled(let instant):
            try require(requests.isEmpty && !holds.isEmpty, "it gives up while something is in flight or nothing held")
            try require(instant, is: due, "what it waits for")
            try requireNothingToSend()
        case .done:
            try require(requests.isEmpty && holds.isEmpty, "it is done while something is in flight or held back")
            try requireNothingToSend()
        }
        pages = 0
        return step
    }

    private func requireNothingToSend(but isMeantToWait: (Item) -> Bool = { _ in false }) throws {
        if holds.count >= machine.mostHeld { return }
        let forgotten = items.first { item in
            item.isAnnounced && !isInFlight(item.lane) && holds[item.lane] == nil
                // It is the first mutation of its lane.
                && items.first { $0.lane == item.lane }.map { isMeantToWait($0) || $0.due > now } == false
        }
        try require(forgotten == nil, "\(forgotten?.head.id ?? "") is forgotten")
    }

    private func isInFlight(_ lane: String) -> Bool { requests.joined().contains { $0.lane == lane } }

    private func isUrgent(_ lane: String) -> Bool { items.contains { $0.lane == lane && $0.isUrgent } }

    /// A known urgent head that may go goes before other heads, except a head that goes in order.
    private mutating func requireHurry(for heads: [LaneHead]) throws {
        if isUrgent(heads[0].entity) {
            hurried += 1
            return
        }
        let waiting = urgent.first { head in
            !isInFlight(head.entity) && holds[head.entity] == nil && !head.isSuspect
                && items.first { $0.lane == head.entity }.map { $0.position == head.position && $0.failures == 0 }
                    == true
        }
        if let waiting {
            try require(hurried >= machine.mostHurried || heads[0].isSuspect, "\(waiting.id) is not hurried")
        }
        hurried = 0
    }

    private mutating func send(_ heads: [LaneHead]) throws {
        try requireHurry(for: heads)
        var sent: [Item] = []
        for head in heads {
            try require(!isInFlight(head.entity), "two of lane \(head.entity) are in flight")
            try require(holds[head.entity] == nil, "lane \(head.entity) is sent before its time")
            let first = items.first { $0.lane == head.entity }
            if let first, first.position == head.position {
                sent.append(first)
            } else {
                // The store lets no queue claim it.
                let isStale = endsWhileReading && first.map { $0.position > head.position } ?? true
                try require(isStale || first?.isRevived == true, "out of order")
            }
        }
        if (heads + requests.joined().map(\.head)).contains(where: \.isSuspect) {
            try require(heads.count == 1 && requests.isEmpty, "a suspect is not alone")
        }
        try require(Set(heads.map(\.entity)).count == heads.count, "two of one lane go together")
        try require(Set(heads.map(\.kind)).count == 1, "two kinds go together")
        try require(heads.count <= Self.rules.batchLimit(for: heads[0].kind)?.count ?? 0, "too many go together")
        if !endsWhileReading {
            try require(heads.count == 1 || sent.allSatisfy { $0.failures == 0 }, "others go with one that has failed")
        }
        machine.cameToNothing(heads.filter { head in !sent.contains { $0.position == head.position } })
        if !sent.isEmpty { requests.append(sent) }
    }

    /// If nothing fails from now on, everything is sent.
    private func drain() throws {
        var rest = self
        rest.trigger()
        if rest.wanted != nil {
            if rest.page == nil { rest.read() }
            try rest.found()
        }
        for _ in 0..<100 {
            switch try rest.next(rest.mayGo) {
            case .send, .park:
                break
            case .look:
                rest.read()
                try rest.found()
            case .wait(let instant), .stalled(let instant):
                if rest.requests.isEmpty { rest.now = instant.nanoseconds } else { rest.end(0, .acknowledged) }
            case .done:
                if let due = rest.machine.nextDue {
                    rest.now = due.nanoseconds
                    rest.machine.begin()
                    continue
                }
                return try require(rest.items.isEmpty, "\(rest.items.map(\.position)) are never sent")
            }
        }
        throw BrokenInvariant("it comes to no end")
    }
}

@Suite(.heavy) struct LanesExplorationTests {
    /// Lanes with suspects, lanes that wait for a date, and lanes that become urgent.
    private static let lanes: [(Int?, Int?, Int?)] = [
        (nil, nil, nil), (0, nil, nil), (1, nil, nil), (nil, 0, nil), (nil, 1, nil), (0, 1, nil), (nil, nil, 0),
        (nil, nil, 1), (0, nil, 1), (nil, 1, 1),
    ]

    @Test(
        "a LanesStateMachine sends each lane's mutations in order, one at a time, none too early, and finally all",
        arguments: [1, 2, 3], [false, true])
    func far(pageSize: Int, endsWhileReading: Bool) throws {
        for (suspect, delayed, urgent) in Self.lanes {
            let explorer = Explorer(
                LanesOnList(
                    pageSize: pageSize, endsWhileReading: endsWhileReading, suspectLane: suspect, delayedLane: delayed,
                    urgentLane: urgent),
                code: """
                    LanesOnList(pageSize: \(pageSize), endsWhileReading: \(endsWhileReading),
                    suspectLane: \(suspect.map(String.init) ?? "nil"), delayedLane: \(delayed.map(String.init) ?? "nil"),
                    urgentLane: \(urgent.map(String.init) ?? "nil"))
                    """)
            #expect(try explorer.explore(transitionsPerEffort: 2_000).transitions >= 2_000)
        }
    }

    @Test(
        "over random inputs lanes keep their order and everything is sent",
        arguments: [1, 2, 3], 1...10 as ClosedRange<UInt64>)
    func walks(pageSize: Int, seed: UInt64) throws {
        for (suspect, delayed, urgent) in Self.lanes {
            let explorer = Explorer(
                LanesOnList(pageSize: pageSize, suspectLane: suspect, delayedLane: delayed, urgentLane: urgent),
                code: """
                    LanesOnList(pageSize: \(pageSize), suspectLane: \(suspect.map(String.init) ?? "nil"),
                    delayedLane: \(delayed.map(String.init) ?? "nil"),
                    urgentLane: \(urgent.map(String.init) ?? "nil"))
                    """)
            try explorer.exploreRandomly(length: 150, seed: seed)
        }
    }
}
