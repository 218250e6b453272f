import ResilienceTesting
import TestSupport
import Testing

@testable import Resilience

/// A bulkhead compared with plain lists of the calls inside, the waiting calls in order of arrival, and the removed
/// calls.
private struct ListedBulkhead: ExplorableMachine {
    enum Input: Hashable {
        case arrive(Int, CallPriority = .normal, patience: Int64 = .max, mayDisplace: Bool = true)
        case leave(Int, after: Int64? = nil)
        case giveUp(place: Int)
        /// A call that already has a permit gives up; a ticket that no call has gives up.
        case giveUpTooLate, giveUpUnknown
        case learnOfRemoval, learnOfNone
        case limit(Int), queueLimit(Int)
        case wait(Int64)
    }

    private struct Waiting: Hashable {
        let ticket: UInt64
        let priority: CallPriority
        let since: Int64
    }

    /// The next turn of a line, on a clock that advances only with turns.
    private struct Turns {
        var next: Int64
        var isKept = false
    }

    private static let standard: [CallPriority: Int64] = [.high: 1, .normal: 8, .low: 64]

    var machine: BulkheadStateMachine
    /// How many calls arrive or leave together.
    let crowd: Int
    /// The inputs to try, in addition to the usual inputs.
    let priorities: [CallPriority]
    let holds: [Int64]
    let limits: [Int]
    let times: [Int64]
    /// The tickets of the calls inside; 0 for a call that did not wait.
    private var inside: [UInt64] = []
    /// The waiting calls by priority, in order of arrival.
    private var lines: [CallPriority: [Waiting]] = [:]
    private var joined: [CallPriority: UInt64] = [:]
    private var turns: [CallPriority: Turns] = [:]
    private var turnClock: Int64 = 0
    private var removed: [UInt64: BulkheadFull.Reason] = [:]
    /// The service times measured since a permit was last free.
    private var measured: [Int64] = []
    private var limit: Int
    private var queueLimit: Int
    private var now: Int64 = 0
    private var latest: Int64 = 0
    private var busySince: Int64?
    private var isOverloaded = false

    init(
        limit: Int, queue: Int, order: Bulkhead.Order = .firstInFirstOut, crowd: Int = 1,
        priorities: [CallPriority] = [.normal], holds: [Int64] = [], limits: [Int] = [],
        shedding: LoadShedding? = nil, times: [Int64] = []
    ) {
        machine = BulkheadStateMachine(limit: limit, queueLimit: queue, order: order, shedding: shedding)
        self.crowd = crowd
        self.priorities = priorities
        self.holds = holds
        self.limits = limits
        self.times = times
        self.limit = limit
        queueLimit = queue
    }

    private var waiting: [Waiting] { lines.keys.sorted().flatMap { lines[$0] ?? [] } }
    private var queued: Int { lines.values.reduce(0) { $0 + $1.count } }

    var inputs: [Input] {
        // Otherwise the number of removed calls would grow without limit.
        if removed.count >= 2 { return [.learnOfRemoval] }
        var inputs: [Input] = [.giveUpUnknown, .learnOfNone] + times.map { .wait($0) }
        for priority in priorities {
            inputs += [.arrive(1, priority), .arrive(1, priority, mayDisplace: false)]
            if crowd > 1 { inputs.append(.arrive(crowd, priority)) }
            if !holds.isEmpty {
                inputs += [0, 10, 100].map { .arrive(1, priority, patience: $0) }
            }
        }
        if !inside.isEmpty { inputs += [.leave(1)] + holds.map { .leave(1, after: $0) } }
        if crowd > 1, inside.count + queued >= crowd { inputs.append(.leave(crowd)) }
        for place in Set([0, queued / 2, queued - 1]).sorted() where (0..<queued).contains(place) {
            inputs.append(.giveUp(place: place))
        }
        if inside.contains(where: { $0 > 0 }) { inputs.append(.giveUpTooLate) }
        if !removed.isEmpty { inputs.append(.learnOfRemoval) }
        return inputs + limits.map { .limit($0) } + limits.map { .queueLimit($0 - 1) }
    }

    /// A ticket that has left a line stays in its list for a while, so the list is part of the state.
    var identity: [Int]? {
        let handed = inside.contains { $0 > 0 } ? 1 : 0
        let busyFor = machine.waitingSince.map { Int(min(now - $0, 1_000)) } ?? -1
        let bounds = [
            limit, queueLimit, inside.count, handed, removed.count, machine.serviceTime.map { Int($0) } ?? -1, busyFor,
            machine.isShedding ? 1 : 0, Int(min(now - latest, 1_000)),
        ]
        return machine.lines.reduce(into: bounds) { identity, line in
            identity += [Int(line.priority.rawValue), line.tickets.first, line.tickets.order.count]
            identity += [Int(line.turn), line.keepsTurn ? 1 : 0]
            identity += line.tickets.order.map { line.tickets[$0].map { Int(min(now - $0, 1_000)) } ?? -1 }
        }
    }

    mutating func apply(_ input: Input) throws {
        switch input {
        case .arrive(let number, let priority, let patience, let mayDisplace):
            for _ in 0..<number { try arrive(priority, patience, mayDisplace) }
        case .leave(let number, let serviceTime):
            for _ in 0..<number { try leave(after: serviceTime) }
        case .giveUp(let place):
            let loser = waiting[place]
            let turn = nextTurn(of: loser.priority)
            lines[loser.priority]?.removeAll { $0 == loser }
            keep(turn, of: loser.priority)
            try require(machine.leaveQueue(loser.ticket), "one that waits could not leave")
        case .giveUpTooLate:
            let handed = inside.last { $0 > 0 } ?? 0
            try require(!machine.leaveQueue(handed), "one that is inside left the line")
        case .giveUpUnknown:
            try require(!machine.leaveQueue((joined[.normal] ?? 0) + 1), "one that never came left the line")
        case .learnOfRemoval:
            guard let (loser, reason) = removed.popFirst() else { return }
            try require(!machine.leaveQueue(loser), "one that lost its place left the line")
            try require(machine.learnsOfRemoval(loser), is: reason, "why one lost its place")
        case .learnOfNone:
            for ticket in inside + waiting.map(\.ticket) {
                try require(machine.learnsOfRemoval(ticket) == nil, "one that kept its place lost it")
            }
        case .limit(let limit):
            self.limit = limit
            var next: [UInt64] = []
            while inside.count < limit, queued > 0 { next.append(letIn()) }
            forgetIfFree()
            try require(machine.setLimit(limit), is: next, "those let in")
        case .queueLimit(let limit):
            queueLimit = limit
            machine.setQueueLimit(limit)
        case .wait(let time):
            now += time
        }
        if queued == 0 { (busySince, isOverloaded) = (nil, false) }
        try require(machine.inUse, is: inside.count, "in use")
        try require(machine.queued, is: queued, "queued")
        try require(queued == 0 || machine.inUse >= limit, "one waits beside a free permit")
        try require(machine.removed, is: removed, "removed")
        try require(machine.serviceTime, is: serviceTime, "the service time")
        try require(machine.isShedding, is: isOverloaded, "shedding")
        try require(machine.waitingSince, is: busySince, "busy since")
        try require(Set(machine.lines.flatMap(\.tickets.members.keys)), is: Set(waiting.map(\.ticket)), "the line")
    }

    private mutating func arrive(_ priority: CallPriority, _ patience: Int64, _ mayDisplace: Bool) throws {
        let answer = machine.arrive(priority: priority, patience: patience, mayDisplace: mayDisplace, at: now)
        let shed = Set(machine.takeShed())
        if inside.count < limit {
            inside.append(0)
            return try require(answer, is: .enter)
        }
        try require(shed, is: Set(shedIfOverloaded()), "shed")
        let priority = machine.order == .byPriority ? priority : .normal
        let ticket = (joined[priority] ?? UInt64(UInt8(bitPattern: priority.rawValue)) << 56) + 1
        let newcomer = Waiting(ticket: ticket, priority: priority, since: now)
        let mustDisplace = queued >= queueLimit
        let loser = mustDisplace ? ends(of: lastOfEach(with: newcomer)).last : nil
        if mustDisplace, loser == newcomer || !mayDisplace {
            if mayDisplace { keepTurn(of: priority) }
            return try require(answer, is: .reject)
        }
        let place = place(of: priority)
        if patience == 0 || Double(place) * Double(serviceTime ?? 0) / Double(limit) >= Double(patience) + 1 {
            if mayDisplace { keepTurn(of: priority) }
            return try require(answer, is: .tooLate)
        }
        if let loser { remove(loser, because: .displaced) }
        turns[priority] = Turns(next: nextTurn(of: priority))
        joined[priority] = ticket
        lines[priority, default: []].append(newcomer)
        busySince = busySince ?? now
        try require(answer, is: .queue(ticket: ticket, displacing: loser?.ticket))
    }

    private mutating func leave(after serviceTime: Int64?) throws {
        inside.removeFirst()
        if let serviceTime { measured.append(serviceTime) }
        lookForOverload()
        let next = inside.count < limit && queued > 0 ? letIn() : nil
        forgetIfFree()
        let shed = shedIfOverloaded()
        try require(machine.leave(after: serviceTime, at: now), is: next, "the next")
        try require(Set(machine.takeShed()), is: Set(shed), "shed")
    }

    // MARK: Turns

    private func stride(_ priority: CallPriority) -> Int64 { Self.standard[priority] ?? 8 }

    private var isNewestFirst: Bool { machine.order == .lastInFirstOut || isOverloaded }

    /// The turn of a line's first call; each later call's turn is one stride after the previous.
    private func nextTurn(of priority: CallPriority) -> Int64 {
        guard let own = turns[priority], isWaiting(priority) || own.isKept else { return turnClock + stride(priority) }
        return max(own.next, turnClock)
    }

    private func isWaiting(_ priority: CallPriority) -> Bool { lines[priority]?.isEmpty == false }

    /// The calls whose turns come first and last. If turns are equal, the higher priority's comes first.
    private func ends(of calls: [(call: Waiting, turn: Int64)]) -> (first: Waiting?, last: Waiting?) {
        let order = calls.sorted { $0.turn != $1.turn ? $0.turn < $1.turn : $0.call.priority > $1.call.priority }
        return (order.first?.call, order.last?.call)
    }

    /// The first call of each line, with its turn.
    private func firstOfEach() -> [(call: Waiting, turn: Int64)] {
        lines.compactMap { priority, line in
            (isNewestFirst ? line.last : line.first).map { ($0, nextTurn(of: priority)) }
        }
    }

    private func lastOfEach(with newcomer: Waiting? = nil) -> [(call: Waiting, turn: Int64)] {
        var lines = lines
        if let newcomer { lines[newcomer.priority, default: []].append(newcomer) }
        return lines.compactMap { priority, line in
            let turn = nextTurn(of: priority) + Int64(line.count - 1) * stride(priority)
            return (isNewestFirst ? line.first : line.last).map { ($0, turn) }
        }
    }

    /// The number of calls whose turns come before a newcomer's.
    private func place(of priority: CallPriority) -> Int {
        let before = isNewestFirst ? 0 : lines[priority]?.count ?? 0
        let turn = nextTurn(of: priority) + Int64(before) * stride(priority)
        return lines.reduce(before) { place, line in
            if line.key == priority { return place }
            let (first, stride) = (nextTurn(of: line.key), stride(line.key))
            let turnsBefore = (turn - first + (line.key > priority ? stride : stride - 1)) / stride
            return place + max(0, min(line.value.count, Int(turnsBefore)))
        }
    }

    private mutating func keepTurn(of priority: CallPriority) {
        if !isWaiting(priority) { turns[priority] = Turns(next: nextTurn(of: priority), isKept: true) }
    }

    private mutating func remove(_ loser: Waiting, because reason: BulkheadFull.Reason) {
        let turn = nextTurn(of: loser.priority)
        removeFromLine(loser)
        removed[loser.ticket] = reason
        keep(turn, of: loser.priority)
    }

    /// Removes a call from either end of its line.
    private mutating func removeFromLine(_ call: Waiting) {
        if lines[call.priority]?.last == call {
            lines[call.priority]?.removeLast()
        } else {
            lines[call.priority]?.removeFirst()
        }
    }

    private mutating func keep(_ turn: Int64, of priority: CallPriority) {
        if !isWaiting(priority) { turns[priority] = Turns(next: turn, isKept: true) }
    }

    private mutating func letIn() -> UInt64 {
        var next = ends(of: firstOfEach()).first!
        // A call that has waited for twice the interval is next.
        if isOverloaded, machine.order != .lastInFirstOut, let interval = machine.shedding?.interval,
            let oldest = lines[next.priority]?.first, .nanoseconds(latest - oldest.since) >= interval * 2
        {
            next = oldest
        }
        turnClock = nextTurn(of: next.priority)
        turns[next.priority] = Turns(next: turnClock + stride(next.priority))
        removeFromLine(next)
        if queued == 0 { (busySince, isOverloaded) = (nil, false) }
        inside.append(next.ticket)
        return next.ticket
    }

    // MARK: Overload

    private mutating func lookForOverload() {
        guard let shedding = machine.shedding else { return }
        latest = now
        guard let busySince else { return }
        isOverloaded = .nanoseconds(now - busySince) >= shedding.interval
    }

    private mutating func shedIfOverloaded() -> [UInt64] {
        lookForOverload()
        var shed: [UInt64] = []
        while let shedding = machine.shedding, isOverloaded, queued > limit {
            // Each line has its newest call first, so its last call is its oldest.
            let late = lastOfEach().filter { .nanoseconds(now - $0.call.since) > shedding.target }
            guard let loser = ends(of: late).last else { break }
            remove(loser, because: .shed)
            shed.append(loser.ticket)
        }
        return shed
    }

    private mutating func forgetIfFree() {
        guard inside.count < limit else { return }
        measured = []
        for priority in turns.keys { turns[priority]?.isKept = false }
    }

    /// The average service time: each service time moves the average by an eighth of the difference.
    private var serviceTime: Int64? {
        guard let first = measured.first else { return nil }
        return measured.dropFirst().reduce(first) { $0 + Int64((Double($1 - $0) / 8).rounded(.towardZero)) }
    }
}

@Suite(.heavy) struct BulkheadExplorationTests {
    @Test(
        "in every reachable state, a small bulkhead matches a model of plain lists",
        arguments: [(1, 0, .firstInFirstOut), (3, 0, .byPriority), (1, 1, .firstInFirstOut), (1, 1, .lastInFirstOut)]
            as [(Int, Int, Bulkhead.Order)])
    func complete(limit: Int, queue: Int, order: Bulkhead.Order) throws {
        let explorer = Explorer(
            ListedBulkhead(limit: limit, queue: queue, order: order),
            code: "ListedBulkhead(limit: \(limit), queue: \(queue), order: .\(order))")
        let exploration = try explorer.explore()
        #expect(exploration.isComplete && exploration.transitions >= 5, "\(exploration)")
    }

    @Test("as far as the effort allows, a larger bulkhead matches a model of plain lists", arguments: [(1, 2), (2, 5)])
    func far(limit: Int, queue: Int) throws {
        let explorer = Explorer(
            ListedBulkhead(limit: limit, queue: queue), code: "ListedBulkhead(limit: \(limit), queue: \(queue))")
        #expect(try explorer.explore(transitionsPerEffort: 10_000).transitions >= 10_000)
    }

    @Test(
        "with every order, with service times and changing limits, a bulkhead matches a model of plain lists",
        arguments: [Bulkhead.Order.firstInFirstOut, .lastInFirstOut, .byPriority])
    func orders(order: Bulkhead.Order) throws {
        for (priorities, holds, limits) in [
            ([.low, .normal, .high], [], []), ([.normal], [0, 90, 250], []), ([.normal], [], [1, 2, 4]),
            ([.low, .high], [40], [1, 3]),
        ] as [([CallPriority], [Int64], [Int])] {
            let explorer = Explorer(
                ListedBulkhead(
                    limit: 2, queue: 3, order: order, priorities: priorities, holds: holds, limits: limits),
                code: """
                    ListedBulkhead(
                        limit: 2, queue: 3, order: .\(order), priorities: \(priorities), holds: \(holds),
                        limits: \(limits))
                    """)
            #expect(try explorer.explore(transitionsPerEffort: 5_000).transitions >= 5_000)
            try explorer.exploreRandomly(length: 1_000, seed: 1)
        }
    }

    @Test(
        "by priority, a bulkhead that stays full gives and predicts the same turns as a model of plain lists",
        arguments: [1, 2, 5], [[], [10, 40]] as [[Int64]])
    func turns(queue: Int, holds: [Int64]) throws {
        let explorer = Explorer(
            ListedBulkhead(
                limit: 1, queue: queue, order: .byPriority, priorities: [.low, .normal, .high], holds: holds),
            code: """
                ListedBulkhead(
                    limit: 1, queue: \(queue), order: .byPriority, priorities: [.low, .normal, .high], holds: \(holds))
                """)
        try explorer.exploreRandomly(length: 20_000, seed: 1)
    }

    @Test(
        "under overload, with every order, a bulkhead sheds the same calls as a model of plain lists",
        arguments: [Bulkhead.Order.firstInFirstOut, .lastInFirstOut, .byPriority])
    func shedding(order: Bulkhead.Order) throws {
        for (limit, queue, priorities, target) in [(1, 3, [.normal], 5), (2, 5, [.low, .high], 0)]
            as [(Int, Int, [CallPriority], Int64)]
        {
            let explorer = Explorer(
                ListedBulkhead(
                    limit: limit, queue: queue, order: order, priorities: priorities, limits: [1, 3],
                    shedding: LoadShedding(target: .nanoseconds(target), interval: .nanoseconds(10)), times: [1, 6]),
                code: """
                    ListedBulkhead(
                        limit: \(limit), queue: \(queue), order: .\(order), priorities: \(priorities), limits: [1, 3],
                        shedding: LoadShedding(target: .nanoseconds(\(target)), interval: .nanoseconds(10)), times: [1, 6])
                    """)
            #expect(try explorer.explore(transitionsPerEffort: 5_000).transitions >= 5_000)
            try explorer.exploreRandomly(length: 2_000, seed: 1)
        }
    }

    @Test(
        "while many calls come and go at the same time, a bulkhead matches a model of plain lists",
        arguments: [(1, 100, 40, .firstInFirstOut), (7, 1000, 300, .firstInFirstOut), (7, 1000, 300, .byPriority)]
            as [(Int, Int, Int, Bulkhead.Order)])
    func crowds(limit: Int, queue: Int, crowd: Int, order: Bulkhead.Order) throws {
        let explorer = Explorer(
            ListedBulkhead(limit: limit, queue: queue, order: order, crowd: crowd, priorities: [.normal, .high]),
            code: """
                ListedBulkhead(
                    limit: \(limit), queue: \(queue), order: .\(order), crowd: \(crowd), priorities: [.normal, .high])
                """)
        try explorer.exploreRandomly(length: 1_000, seed: 1)
    }
}
