import ResilienceTesting
import TestSupport
import Testing

@testable import Resilience

/// An operation and its caller, compared with the order in which they finished.
private struct ListedAbandoning: ExplorableMachine {
    enum Input { case operationEnded, callerLeaves }

    var machine = AbandoningStateMachine.running
    private var firsts: [Input] = []

    let inputs: [Input] = [.operationEnded, .callerLeaves]
    var identity: [AnyHashable]? { [machine, firsts] }

    mutating func apply(_ input: Input) throws {
        if !firsts.contains(input) { firsts.append(input) }
        let callerWasFirst = firsts[0] == .callerLeaves
        switch input {
        case .operationEnded: try require(machine.operationEnded(), is: callerWasFirst, "whether it is late")
        case .callerLeaves:
            try require(machine.callerLeaves(), is: callerWasFirst ? .abandon : .takeResult)
        }
    }
}

@Suite(.heavy) struct AbandoningExplorationTests {
    @Test("the first to finish decides: the result is taken, or the operation is abandoned and ends late")
    func complete() throws {
        let explorer = Explorer(ListedAbandoning(), code: "ListedAbandoning()")
        let exploration = try explorer.explore()
        #expect(exploration.isComplete && exploration.states == 5 && exploration.transitions == 10)
        try explorer.exploreRandomly(length: 3_000, seed: 1)
    }
}
