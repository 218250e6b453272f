import ResilienceTesting
import TestSupport
import Testing

@testable import Resilience

/// A bulkhead beside two plain lists: who is inside, and who waits.
private struct ListedBulkhead: ExplorableMachine {
    enum Input: Hashable {
        case arrive(Int), leave(Int)
        case giveUp(place: Int)
        /// One that was handed a permit, and one that never came.
        case giveUpTooLate, giveUpUnknown
    }

    var machine: BulkheadStateMachine
    /// How many arrive or leave together.
    let crowd: Int
    /// The tickets of those inside; 0 for one that did not wait.
    private var inside: [UInt64] = []
    private var line: [UInt64] = []
    private var joined: UInt64 = 0

    init(limit: Int, queue: Int, crowd: Int = 1) {
        machine = BulkheadStateMachine(limit: limit, queueLimit: queue)
        self.crowd = crowd
    }

    var inputs: [Input] {
        var inputs: [Input] = [.arrive(1), .giveUpUnknown]
        if crowd > 1 { inputs.append(.arrive(crowd)) }
        if !inside.isEmpty { inputs.append(.leave(1)) }
        if crowd > 1, inside.count + line.count >= crowd { inputs.append(.leave(crowd)) }
        for place in Set([0, line.count / 2, line.count - 1]).sorted() where line.indices.contains(place) {
            inputs.append(.giveUp(place: place))
        }
        if inside.contains(where: { $0 > 0 }) { inputs.append(.giveUpTooLate) }
        return inputs
    }

    /// What has left the line stays in its list for a while: that is part of its state.
    var identity: [Int]? {
        let handed = inside.contains { $0 > 0 } ? 1 : 0
        let places = machine.line.order.map { machine.line.waiting.contains($0) ? 1 : 0 }
        return [inside.count, handed, machine.inUse, machine.line.first] + places
    }

    mutating func apply(_ input: Input) throws {
        switch input {
        case .arrive(let number):
            for _ in 0..<number { try arrive() }
        case .leave(let number):
            for _ in 0..<number { try leave() }
        case .giveUp(let place):
            try require(machine.leaveQueue(line.remove(at: place)), "one that waits could not leave")
        case .giveUpTooLate:
            let handed = inside.last { $0 > 0 } ?? 0
            try require(!machine.leaveQueue(handed), "one that is inside left the line")
        case .giveUpUnknown:
            try require(!machine.leaveQueue(joined + 1), "one that never came left the line")
        }
        try require(machine.inUse, is: inside.count, "in use")
        try require(machine.queued, is: line.count, "queued")
        try require(machine.inUse <= machine.limit, "more inside than the limit")
        try require(line.isEmpty || machine.inUse == machine.limit, "one waits beside a free permit")
        try require(machine.line.order.filter(machine.line.waiting.contains), is: line, "the line")
    }

    private mutating func arrive() throws {
        if inside.count < machine.limit {
            inside.append(0)
            try require(machine.arrive(), is: .enter)
        } else if line.count < machine.queueLimit {
            joined += 1
            line.append(joined)
            try require(machine.arrive(), is: .queue(ticket: joined))
        } else {
            try require(machine.arrive(), is: .refuse)
        }
    }

    private mutating func leave() throws {
        inside.removeFirst()
        let next = line.isEmpty ? nil : line.removeFirst()
        if let next { inside.append(next) }
        try require(machine.leave(), is: next, "the next")
    }
}

@Suite struct BulkheadExplorationTests {
    @Test(
        "in every state it can be in, a small bulkhead answers as two plain lists do",
        arguments: [(1, 0), (3, 0), (1, 1)])
    func complete(limit: Int, queue: Int) throws {
        let explorer = Explorer(
            ListedBulkhead(limit: limit, queue: queue), code: "ListedBulkhead(limit: \(limit), queue: \(queue))")
        let exploration = try explorer.explore()
        #expect(exploration.isComplete && exploration.transitions >= 5, "\(exploration)")
    }

    @Test("as far as the effort goes, a larger bulkhead answers as two plain lists do", arguments: [(1, 2), (2, 5)])
    func far(limit: Int, queue: Int) throws {
        let explorer = Explorer(
            ListedBulkhead(limit: limit, queue: queue), code: "ListedBulkhead(limit: \(limit), queue: \(queue))")
        #expect(try explorer.explore(transitionsPerEffort: 10_000).transitions >= 10_000)
    }

    @Test(
        "while crowds come and go, a bulkhead answers as two plain lists do", arguments: [(1, 100, 40), (7, 1000, 300)])
    func crowds(limit: Int, queue: Int, crowd: Int) throws {
        let explorer = Explorer(
            ListedBulkhead(limit: limit, queue: queue, crowd: crowd),
            code: "ListedBulkhead(limit: \(limit), queue: \(queue), crowd: \(crowd))")
        try explorer.exploreRandomly(length: 1_000, seed: 1)
    }
}
