import Resilience
import ResilienceTesting
import TestSupport
import Testing

@testable import ResilienceSync

/// A flush's machine compared with its whole history, from which the test derives the next step.
private struct RecordedFlush: ExplorableMachine {
    enum Input: Hashable {
        case trigger, takeTrigger
        case roundEnded(isPaused: Bool)
        case cancel, pause, endPause, clear, cleared, stop
    }

    private enum Event {
        /// A flush began, or the next round of it.
        case began, roundBegan
        /// The round looks again.
        case lookedAgain
        /// A trigger came during a flush.
        case joined
        /// A flush ended.
        case ended
    }

    private(set) var machine = FlushStateMachine()
    private var events: [Event] = []
    private var clearings = 0
    private var isStopped = false
    private var pausedUntil: MonotonicInstant?

    var inputs: [Input] {
        var inputs: [Input] = [.trigger, .takeTrigger, pausedUntil == nil ? .pause : .endPause, .stop]
        if isRunning { inputs += [.cancel, .roundEnded(isPaused: false), .roundEnded(isPaused: true)] }
        if clearings < 3 { inputs.append(.clear) }
        if clearings > 0 { inputs.append(.cleared) }
        return inputs
    }

    var identity: [Int]? {
        var values = [machine.clearings, machine.isStopped ? 1 : 0]
        switch machine.phase {
        case .idle: values.append(-1)
        case .flushing(let triggered, let joined): values += [triggered ? 1 : 0, joined ? 1 : 0]
        }
        let flags = [isRunning, isOwed, isJoined, isStopped, pausedUntil != nil]
        return values + [-7, clearings] + flags.map { $0 ? 1 : 0 }
    }

    // MARK: The rules

    private var isRunning: Bool {
        for event in events.reversed() {
            switch event {
            case .began: return true
            case .ended: return false
            default: continue
            }
        }
        return false
    }

    /// A trigger came since the round last looked: another round must follow.
    private var isOwed: Bool {
        for event in events.reversed() {
            switch event {
            case .joined: return true
            case .began, .roundBegan, .lookedAgain, .ended: return false
            }
        }
        return false
    }

    /// Another caller awaits this flush.
    private var isJoined: Bool {
        for event in events.reversed() {
            switch event {
            case .joined: return true
            case .began, .ended: return false
            default: continue
            }
        }
        return false
    }

    mutating func apply(_ input: Input) throws {
        switch input {
        case .pause:
            pausedUntil = MonotonicInstant(nanoseconds: 1)
        case .endPause:
            pausedUntil = nil
        case .clear:
            machine.clearingBegan()
            clearings += 1
        case .cleared:
            machine.clearingEnded()
            clearings -= 1
        case .stop:
            machine.stop()
            isStopped = true
        case .trigger:
            try triggered()
        case .takeTrigger:
            try require(machine.takeTrigger(), is: isOwed, "whether to look again")
            if isRunning { events.append(.lookedAgain) }
        case .roundEnded(let isPaused):
            let expected: FlushStateMachine.After = isOwed && !isPaused ? .again : .rest
            events.append(expected == .again ? .roundBegan : .ended)
            try require(machine.roundEnded(isPaused: isPaused), is: expected)
        case .cancel:
            // A caller who joined must not lose the trigger because another was cancelled.
            try require(machine.flushCancelled(), is: isJoined, "whether another flush must start")
            events.append(.ended)
        }
        let phase: FlushStateMachine.Phase =
            isRunning ? .flushing(triggeredMeanwhile: isOwed, joined: isJoined) : .idle
        try require(machine.phase, is: phase, "the phase")
        try require(machine.clearings, is: clearings, "the clearings")
        try require(machine.isStopped, is: isStopped, "whether it is stopped")
    }

    private mutating func triggered() throws {
        let expected: FlushStateMachine.Trigger
        if isStopped {
            expected = .stopped
        } else if isRunning {
            expected = .join
            events.append(.joined)
        } else if clearings > 0 {
            expected = .clearing
        } else if let pausedUntil {
            expected = .paused(until: pausedUntil)
        } else {
            expected = .start
            events.append(.began)
        }
        try require(machine.triggered(pausedUntil: pausedUntil), is: expected)
    }
}

// C1
@Suite(.heavy) struct FlushExplorationTests {
    @Test("however many triggers come during a round, one more round serves them all (B12)")
    func oneMoreRound() {
        var machine = FlushStateMachine()
        #expect(machine.triggered(pausedUntil: nil) == .start)
        for _ in 0..<2 { #expect(machine.triggered(pausedUntil: nil) == .join) }
        #expect(machine.roundEnded(isPaused: false) == .again)
        #expect(machine.roundEnded(isPaused: false) == .rest)
    }

    @Test(
        "in every reachable state one flush runs, no trigger is lost, no flush starts in a pause or clear (B8, B9, B12)"
    )
    func complete() throws {
        let exploration = try Explorer(RecordedFlush()).explore()
        #expect(exploration.isComplete && exploration.transitions > 100, "\(exploration)")
    }
}
