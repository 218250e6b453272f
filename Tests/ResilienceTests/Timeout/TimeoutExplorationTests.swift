import ResilienceTesting
import TestSupport
import Testing

@testable import Resilience

/// A timeout beside the list of what happened: the first of it decides.
private struct ListedTimeout: ExplorableMachine {
    enum Input: CaseIterable { case limitPassed, callerCancelled, insideEnded, insideThrewEarly, insideThrewLate }

    var machine = TimeoutStateMachine.running
    private var happened: [Input] = []
    private let limit = MonotonicInstant(nanoseconds: 5)

    let inputs = Input.allCases
    var identity: [AnyHashable]? { [machine, happened.first] }

    mutating func apply(_ input: Input) throws {
        happened.append(input)
        let isFirst = happened.count == 1
        switch input {
        case .limitPassed: try require(machine.limitPassed(), is: isFirst ? .cancelInside : .nothing)
        case .callerCancelled: try require(machine.callerCancelled(), is: isFirst ? .cancelInside : .nothing)
        case .insideEnded: machine.insideEnded()
        case .insideThrewEarly: machine.insideThrew(at: limit, expiry: limit + .nanoseconds(1))
        case .insideThrewLate: machine.insideThrew(at: limit, expiry: limit)
        }
        let expected: TimeoutStateMachine =
            switch happened[0] {
            case .limitPassed, .insideThrewLate: .expired
            case .callerCancelled: .cancelled
            case .insideEnded, .insideThrewEarly: .ended
            }
        try require(machine, is: expected, "the state")
    }
}

@Suite(.heavy) struct TimeoutExplorationTests {
    @Test("whatever happens, and however often, the first of it decides, and the inside is cancelled once at most")
    func complete() throws {
        let explorer = Explorer(ListedTimeout(), code: "ListedTimeout()")
        let exploration = try explorer.explore()
        #expect(exploration.isComplete && exploration.states == 6 && exploration.transitions == 30)
        try explorer.exploreRandomly(length: 3_000, seed: 1)
    }
}
