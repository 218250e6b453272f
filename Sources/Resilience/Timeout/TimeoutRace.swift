import Synchronization

/// Who ended one call under a timeout: the state machine, for several threads.
final class TimeoutRace: Sendable {
    private let word = Atomic(TimeoutStateMachine.running.rawValue)

    var state: TimeoutStateMachine {
        // Only what the machine's own cases gave is ever stored.
        TimeoutStateMachine(rawValue: word.load(ordering: .acquiring))!
    }

    func insideEnded() { change { $0.insideEnded() } }

    /// - Returns: whether the inside is to be cancelled.
    func limitPassed() -> Bool { change { $0.limitPassed() } == .cancelInside }

    /// - Returns: whether the inside is to be cancelled.
    func callerCancelled() -> Bool { change { $0.callerCancelled() } == .cancelInside }

    private func change<R>(_ input: (inout TimeoutStateMachine) -> R) -> R {
        while true {
            let before = state
            var machine = before
            let answer = input(&machine)
            let (exchanged, _) = word.weakCompareExchange(
                expected: before.rawValue, desired: machine.rawValue, ordering: .acquiringAndReleasing)
            if exchanged { return answer }
        }
    }
}
