import ResilienceTesting
import TestSupport
import Testing

@testable import Resilience

/// The machine compared with a list of all kept values.
private struct ListedLastGood: ExplorableMachine {
    enum Input: Hashable {
        case keep(late: Int64)
        case forget
        case wait
    }

    private var machine: LastGoodStateMachine<Int>
    private let maxAge: Int64
    private var kept: [(value: Int, at: Int64)] = []
    private var next = 0
    private var now: Int64 = 0

    init(maxAge: Int64) {
        self.maxAge = maxAge
        machine = LastGoodStateMachine(maxAge: .nanoseconds(maxAge))
    }

    let inputs: [Input] = [.keep(late: 0), .keep(late: 1), .keep(late: 3), .forget, .wait]

    /// Each value is new, so only the age of the newest matters.
    var identity: Int64? { kept.map(\.at).max().map { min(now - $0, maxAge + 4) } ?? -1 }

    mutating func apply(_ input: Input) throws {
        let held = kept.last?.value
        switch input {
        case .keep(let late):
            next += 1
            try require(machine.keep(next, at: MonotonicInstant(nanoseconds: now - late)), is: held, "what it replaced")
            kept.append((next, now - late))
        case .forget:
            try require(machine.forget(), is: held, "what it forgot")
            kept = []
        case .wait:
            now += 1
        }
        for reading in [now - 2, now, now + 1] {
            let age = kept.map { max(0, reading - $0.at) }.min()
            let instant = MonotonicInstant(nanoseconds: reading)
            try require(machine.age(at: instant), is: age.map { .nanoseconds($0) }, "the age")
            let value = age.flatMap { $0 <= maxAge ? kept.last?.value : nil }
            try require(machine.value(at: instant), is: value, "what it hands back")
        }
    }
}

@Suite(.heavy) struct LastGoodExplorationTests {
    @Test(
        "a LastGoodStateMachine returns the last kept value until the newest is too old",
        arguments: [1, 2, 7] as [Int64])
    func complete(maxAge: Int64) throws {
        let explorer = Explorer(ListedLastGood(maxAge: maxAge), code: "ListedLastGood(maxAge: \(maxAge))")
        let exploration = try explorer.explore()
        #expect(exploration.isComplete && exploration.transitions >= 20, "\(exploration)")
        try explorer.exploreRandomly(length: 300, seed: 1)
    }
}
