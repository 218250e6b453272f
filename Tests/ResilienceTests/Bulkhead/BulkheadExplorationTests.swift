import ResilienceTesting
import TestSupport
import Testing

@testable import Resilience

/// A bulkhead beside plain lists: who is inside, who waits, in the order of their turns, and who lost a place.
private struct ListedBulkhead: ExplorableMachine {
    enum Input: Hashable {
        case arrive(Int, CallPriority = .normal, patience: Int64 = .max, mayDisplace: Bool = true)
        case leave(Int, after: Int64? = nil)
        case giveUp(place: Int)
        /// One that was handed a permit, and one that never came.
        case giveUpTooLate, giveUpUnknown
        case learnOfDisplacement, learnOfNone
        case limit(Int), queueLimit(Int)
    }

    private struct Waiting: Hashable {
        let ticket: UInt64
        let priority: CallPriority
    }

    var machine: BulkheadStateMachine
    /// How many arrive or leave together.
    let crowd: Int
    /// What is tried beside the usual.
    let priorities: [CallPriority]
    let holds: [Int64]
    let limits: [Int]
    /// The tickets of those inside; 0 for one that did not wait.
    private var inside: [UInt64] = []
    /// Whose turn is next comes first.
    private var line: [Waiting] = []
    private var joined: [CallPriority: UInt64] = [:]
    private var displaced: [UInt64] = []
    /// The holds measured since a permit last lay free.
    private var measured: [Int64] = []
    private var limit: Int
    private var queueLimit: Int

    init(
        limit: Int, queue: Int, order: Bulkhead.Order = .firstInFirstOut, crowd: Int = 1,
        priorities: [CallPriority] = [.normal], holds: [Int64] = [], limits: [Int] = []
    ) {
        machine = BulkheadStateMachine(limit: limit, queueLimit: queue, order: order)
        self.crowd = crowd
        self.priorities = priorities
        self.holds = holds
        self.limits = limits
        self.limit = limit
        queueLimit = queue
    }

    var inputs: [Input] {
        // Else there were ever more of them.
        if displaced.count == 2 { return [.learnOfDisplacement] }
        var inputs: [Input] = [.giveUpUnknown, .learnOfNone]
        for priority in priorities {
            inputs += [.arrive(1, priority), .arrive(1, priority, mayDisplace: false)]
            if crowd > 1 { inputs.append(.arrive(crowd, priority)) }
            if !holds.isEmpty {
                inputs += [0, 10, 100].map { .arrive(1, priority, patience: $0) }
            }
        }
        if !inside.isEmpty { inputs += [.leave(1)] + holds.map { .leave(1, after: $0) } }
        if crowd > 1, inside.count + line.count >= crowd { inputs.append(.leave(crowd)) }
        for place in Set([0, line.count / 2, line.count - 1]).sorted() where line.indices.contains(place) {
            inputs.append(.giveUp(place: place))
        }
        if inside.contains(where: { $0 > 0 }) { inputs.append(.giveUpTooLate) }
        if !displaced.isEmpty { inputs.append(.learnOfDisplacement) }
        return inputs + limits.map { .limit($0) } + limits.map { .queueLimit($0 - 1) }
    }

    /// What has left a line stays in its list for a while: that is part of its state.
    var identity: [Int]? {
        let handed = inside.contains { $0 > 0 } ? 1 : 0
        let bounds = [
            limit, queueLimit, inside.count, handed, displaced.count, machine.serviceTime.map { Int($0) } ?? -1,
        ]
        return machine.lines.reduce(into: bounds) { identity, line in
            identity += [Int(line.priority.rawValue), line.tickets.first, line.tickets.order.count]
            identity += line.tickets.order.map { line.tickets[$0] == nil ? 0 : 1 }
        }
    }

    mutating func apply(_ input: Input) throws {
        switch input {
        case .arrive(let number, let priority, let patience, let mayDisplace):
            for _ in 0..<number { try arrive(priority, patience, mayDisplace) }
        case .leave(let number, let serviceTime):
            for _ in 0..<number { try leave(after: serviceTime) }
        case .giveUp(let place):
            try require(machine.leaveQueue(line.remove(at: place).ticket), "one that waits could not leave")
        case .giveUpTooLate:
            let handed = inside.last { $0 > 0 } ?? 0
            try require(!machine.leaveQueue(handed), "one that is inside left the line")
        case .giveUpUnknown:
            try require(!machine.leaveQueue((joined[.normal] ?? 0) + 1), "one that never came left the line")
        case .learnOfDisplacement:
            let loser = displaced.removeFirst()
            try require(!machine.leaveQueue(loser), "one that lost its place left the line")
            try require(machine.learnsOfDisplacement(loser), "one that lost its place did not learn of it")
        case .learnOfNone:
            for ticket in inside + line.map(\.ticket) {
                try require(!machine.learnsOfDisplacement(ticket), "one that kept its place lost it")
            }
        case .limit(let limit):
            self.limit = limit
            var next: [UInt64] = []
            while inside.count < limit, !line.isEmpty { next.append(letIn()) }
            forgetIfFree()
            try require(machine.setLimit(limit), is: next, "those let in")
        case .queueLimit(let limit):
            queueLimit = limit
            machine.setQueueLimit(limit)
        }
        try require(machine.inUse, is: inside.count, "in use")
        try require(machine.queued, is: line.count, "queued")
        try require(line.isEmpty || machine.inUse >= limit, "one waits beside a free permit")
        try require(machine.displaced, is: Set(displaced), "displaced")
        try require(machine.serviceTime, is: serviceTime, "the service time")
        try require(Set(machine.lines.flatMap(\.tickets.members.keys)), is: Set(line.map(\.ticket)), "the line")
    }

    private mutating func arrive(_ priority: CallPriority, _ patience: Int64, _ mayDisplace: Bool) throws {
        let answer = machine.arrive(priority: priority, patience: patience, mayDisplace: mayDisplace)
        if inside.count < limit {
            inside.append(0)
            return try require(answer, is: .enter)
        }
        let priority = machine.order == .byPriority ? priority : .normal
        let place =
            switch machine.order {
            case .firstInFirstOut: line.count
            case .lastInFirstOut: 0
            case .byPriority: line.firstIndex { $0.priority < priority } ?? line.count
            }
        let mustDisplace = line.count >= queueLimit
        if mustDisplace, place == line.count || !mayDisplace { return try require(answer, is: .reject) }
        if patience == 0 || Double(place) * Double(serviceTime ?? 0) / Double(limit) >= Double(patience) + 1 {
            return try require(answer, is: .tooLate)
        }
        let loser = mustDisplace ? line.removeLast().ticket : nil
        if let loser { displaced.append(loser) }
        let ticket = (joined[priority] ?? UInt64(UInt8(bitPattern: priority.rawValue)) << 56) + 1
        joined[priority] = ticket
        line.insert(Waiting(ticket: ticket, priority: priority), at: place)
        try require(answer, is: .queue(ticket: ticket, displacing: loser))
    }

    private mutating func leave(after serviceTime: Int64?) throws {
        inside.removeFirst()
        if let serviceTime { measured.append(serviceTime) }
        let next = inside.count < limit && !line.isEmpty ? letIn() : nil
        forgetIfFree()
        try require(machine.leave(after: serviceTime), is: next, "the next")
    }

    private mutating func letIn() -> UInt64 {
        let next = line.removeFirst().ticket
        inside.append(next)
        return next
    }

    private mutating func forgetIfFree() {
        if inside.count < limit { measured = [] }
    }

    /// All of them anew, each an eighth of the way.
    private var serviceTime: Int64? {
        guard let first = measured.first else { return nil }
        return measured.dropFirst().reduce(first) { $0 + Int64((Double($1 - $0) / 8).rounded(.towardZero)) }
    }
}

@Suite(.heavy) struct BulkheadExplorationTests {
    @Test(
        "in every state it can be in, a small bulkhead answers as plain lists do",
        arguments: [(1, 0, .firstInFirstOut), (3, 0, .byPriority), (1, 1, .firstInFirstOut), (1, 1, .lastInFirstOut)]
            as [(Int, Int, Bulkhead.Order)])
    func complete(limit: Int, queue: Int, order: Bulkhead.Order) throws {
        let explorer = Explorer(
            ListedBulkhead(limit: limit, queue: queue, order: order),
            code: "ListedBulkhead(limit: \(limit), queue: \(queue), order: .\(order))")
        let exploration = try explorer.explore()
        #expect(exploration.isComplete && exploration.transitions >= 5, "\(exploration)")
    }

    @Test("as far as the effort goes, a larger bulkhead answers as plain lists do", arguments: [(1, 2), (2, 5)])
    func far(limit: Int, queue: Int) throws {
        let explorer = Explorer(
            ListedBulkhead(limit: limit, queue: queue), code: "ListedBulkhead(limit: \(limit), queue: \(queue))")
        #expect(try explorer.explore(transitionsPerEffort: 10_000).transitions >= 10_000)
    }

    @Test(
        "in every order, with holds and with limits that change, a bulkhead answers as plain lists do",
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
        "while crowds come and go, a bulkhead answers as plain lists do",
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
