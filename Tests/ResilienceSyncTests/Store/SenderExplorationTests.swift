import Foundation
import Resilience
import ResilienceTesting
import TestSupport
import Testing

@testable import ResilienceSync

/// The sender, compared with a list of all earlier ones.
private struct ListedSenders: ExplorableMachine {
    enum Input: Hashable {
        case lock(Int)
        case unlock(Int)
    }

    private static let queues = [UUID(), UUID(), UUID()]

    private var machine = SenderStateMachine()
    private var senders: [Int] = []
    /// Whether each sender has returned the lock, in the order of `senders`.
    private var isOver: [Bool] = []

    let inputs: [Input] = (0..<3).flatMap { [.lock($0), .unlock($0)] }

    var identity: [Int]? { [senders.last ?? -1, isOver.last == false ? 1 : 0] }

    mutating func apply(_ input: Input) throws {
        let current = isOver.last == false ? senders.last : nil
        switch input {
        case .lock(let queue):
            let expected: SendingLock =
                if let current, current != queue { .denied } else if senders.last == queue { .takenAgain } else {
                    .taken
                }
            try require(machine.lock(for: Self.queues[queue]), is: expected)
            if current == nil {
                senders.append(queue)
                isOver.append(false)
            }
        case .unlock(let queue):
            try require(machine.unlock(for: Self.queues[queue]), is: current == queue, "whether it had it")
            if current == queue { isOver[isOver.count - 1] = true }
        }
        try require(machine.holder, is: isOver.last == false ? senders.last.map { Self.queues[$0] } : nil, "who sends")
    }
}

@Suite(.heavy) struct SenderExplorationTests {
    @Test("a SenderStateMachine lets one queue send, and reports whether another has sent since its last turn (P54)")
    func complete() throws {
        let exploration = try Explorer(ListedSenders(), code: "ListedSenders()").explore()
        #expect(exploration.isComplete && exploration.states == 7)
    }
}
