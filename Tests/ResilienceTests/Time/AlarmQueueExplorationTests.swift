import ResilienceTesting
import TestSupport
import Testing

@testable import Resilience

/// A queue of alarms compared with a sorted list.
private struct SortedAlarms: ExplorableMachine {
    enum Input: Hashable {
        case insert(Int64)
        /// Removes the alarm at this place of the list.
        case remove(Int)
        /// Removes again an alarm that has already left this slot.
        case removeStale(slot: Int)
        case popDue(Int64)
    }

    private(set) var queue = AlarmQueue()
    private var sorted: [(deadline: Int64, number: Int, alarm: TimeBaseAlarm)] = []
    /// The last alarm of each slot that fired or was removed.
    private var stale: [TimeBaseAlarm?]
    private var inserted = 0
    private let deadlines: [Int64]
    private let maxPending: Int
    /// The number of the alarm whose action ran last.
    private let fired = Box(0)

    init(deadlines: [Int64], maxPending: Int) {
        self.deadlines = deadlines
        self.maxPending = maxPending
        stale = Array(repeating: nil, count: maxPending)
    }

    var inputs: [Input] {
        var inputs: [Input] = deadlines.map { .popDue($0) }
        if sorted.count < maxPending { inputs += deadlines.map { .insert($0) } }
        for place in Set([0, sorted.count / 3, sorted.count / 2, sorted.count - 1]).sorted()
        where sorted.indices.contains(place) {
            inputs.append(.remove(place))
        }
        inputs += stale.indices.prefix(4).filter { stale[$0] != nil }.map { .removeStale(slot: $0) }
        return inputs
    }

    /// The heap, with its ties by age, and the list; the free slots, and the slots with a stale alarm.
    var identity: [Int64]? {
        let ages = queue.heap.map(\.order).sorted()
        var values: [Int64] = []
        for entry in queue.heap {
            values += [entry.deadline.nanoseconds, Int64(ages.firstIndex(of: entry.order) ?? -1), Int64(entry.slot)]
        }
        for alarm in sorted { values += [alarm.deadline, Int64(alarm.alarm.slot)] }
        return values + [-7] + queue.free.map { Int64($0) } + stale.map { $0 == nil ? 0 : 1 }
    }

    mutating func apply(_ input: Input) throws {
        switch input {
        case .insert(let deadline):
            inserted += 1
            let action = AlarmAction { [fired, inserted] in fired.value = inserted }
            let alarm = queue.insert(at: MonotonicInstant(nanoseconds: deadline), action)
            let place = sorted.firstIndex { deadline < $0.deadline } ?? sorted.count
            sorted.insert((deadline, inserted, alarm), at: place)
        case .remove(let place):
            let entry = sorted.remove(at: place)
            try require(run(queue.remove(entry.alarm)), is: entry.number, "the alarm taken back")
            stale[entry.alarm.slot] = entry.alarm
        case .removeStale(let slot):
            if let alarm = stale[slot] {
                try require(queue.remove(alarm) == nil, "an alarm that is gone was taken back")
            }
        case .popDue(let now):
            let due = sorted.first.flatMap { $0.deadline <= now ? $0 : nil }
            try require(
                run(queue.popDue(at: MonotonicInstant(nanoseconds: now))), is: due?.number, "the alarm that is due")
            if let due {
                sorted.removeFirst()
                stale[due.alarm.slot] = due.alarm
            }
        }
        try require(queue.count, is: sorted.count, "the count")
        try require(queue.earliest?.nanoseconds, is: sorted.first?.deadline, "the earliest")
        try require(queue.deadlines.map(\.nanoseconds), is: sorted.map(\.deadline), "the deadlines")
    }

    private func run(_ action: AlarmAction?) -> Int? {
        action.map { action in
            action.run()
            return fired.value
        }
    }
}

@Suite(.heavy) struct AlarmQueueExplorationTests {
    @Test(
        "in every reachable state, a queue of few alarms matches a sorted list",
        arguments: [(1, 1), (2, 2), (3, 2), (1, 3), (2, 3)])
    func complete(deadlines: Int64, maxPending: Int) throws {
        let explorer = Explorer(
            SortedAlarms(deadlines: Array(1...deadlines), maxPending: maxPending),
            code: "SortedAlarms(deadlines: Array(1...\(deadlines)), maxPending: \(maxPending))")
        let exploration = try explorer.explore()
        #expect(exploration.isComplete && exploration.transitions > 5, "\(exploration)")
    }

    @Test("as far as the effort allows, a queue of six alarms matches a sorted list")
    func far() throws {
        let explorer = Explorer(
            SortedAlarms(deadlines: [1, 2, 3], maxPending: 6), code: "SortedAlarms(deadlines: [1, 2, 3], maxPending: 6)"
        )
        #expect(try explorer.explore(transitionsPerEffort: 10_000).transitions >= 10_000)
    }

    @Test("over thousands of inputs, with deadlines at the ends of time, a queue of hundreds matches a sorted list")
    func walks() throws {
        let deadlines: [Int64] = [.min, -1, 0, 1, 2, 3, 1 << 40, .max - 1, .max]
        let explorer = Explorer(
            SortedAlarms(deadlines: deadlines, maxPending: 300), code: "SortedAlarms(deadlines: ends, maxPending: 300)")
        try explorer.exploreRandomly(length: 3_000, seed: 9)
    }
}
