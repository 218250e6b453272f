import Resilience
import ResilienceTesting
import TestSupport
import Testing

@testable import ResilienceSync

/// A flush's machine beside everything that ever happened to it, from which is worked out what must come next.
private struct RecordedFlush: ExplorableMachine {
    enum Input: Hashable {
        case trigger, takeTrigger
        case roundEnded(pause: Int64?)
        case cancel, endPause, clear, cleared
        case wait(Int64)
    }

    private enum Event {
        /// A flush began, or the next round of it.
        case began, roundBegan
        /// The round looks again.
        case lookedAgain
        /// A trigger came while a flush was under way.
        case joined
        /// A flush ended.
        case ended
        case paused(until: Instant)
        case pauseEnded
    }

    private(set) var machine = FlushStateMachine()
    private let pauses: [Int64]
    private let waits: [Int64]
    private var events: [Event] = []
    private var clearings = 0
    private var now: Instant

    init(pauses: [Int64], start: Int64 = 0, waits: [Int64] = [1]) {
        self.pauses = pauses
        self.waits = waits
        now = Instant(nanoseconds: start)
    }

    var inputs: [Input] {
        var inputs: [Input] = [.trigger, .takeTrigger, .endPause] + waits.map { .wait($0) }
        if isRunning { inputs += [.cancel, .roundEnded(pause: nil)] + pauses.map { .roundEnded(pause: $0) } }
        if clearings < 3 { inputs.append(.clear) }
        if clearings > 0 { inputs.append(.cleared) }
        return inputs
    }

    var identity: [Int64]? {
        var values = [Int64(machine.clearings), left(machine.pausedUntil)]
        switch machine.phase {
        case .idle: values.append(-1)
        case .flushing(let triggered, let joined): values += [triggered ? 1 : 0, joined ? 1 : 0]
        }
        return values + [-7, isRunning ? 1 : 0, isOwed ? 1 : 0, isJoined ? 1 : 0, left(pausedUntil), Int64(clearings)]
    }

    private func left(_ instant: Instant?) -> Int64 {
        guard let instant else { return -1 }
        return max(0, Int64(clamping: Int128(instant.nanoseconds) - Int128(now.nanoseconds)))
    }

    private func later(_ length: Int64) -> Instant {
        Instant(nanoseconds: Int64(clamping: Int128(now.nanoseconds) + Int128(length)))
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

    /// A trigger came that the round has not looked again for: another must begin after it.
    private var isOwed: Bool {
        for event in events.reversed() {
            switch event {
            case .joined: return true
            case .began, .roundBegan, .lookedAgain, .ended: return false
            default: continue
            }
        }
        return false
    }

    /// Somebody besides who began this flush counts on it.
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

    private var pausedUntil: Instant? {
        for event in events.reversed() {
            switch event {
            case .paused(let until): return until
            case .began, .pauseEnded: return nil
            default: continue
            }
        }
        return nil
    }

    mutating func apply(_ input: Input) throws {
        switch input {
        case .wait(let length):
            now = later(length)
        case .endPause:
            machine.endPause()
            events.append(.pauseEnded)
        case .clear:
            machine.clearingBegan()
            clearings += 1
        case .cleared:
            machine.clearingEnded()
            clearings -= 1
        case .trigger:
            try triggered()
        case .takeTrigger:
            try require(machine.takeTrigger(), is: isOwed, "whether to look again")
            if isRunning { events.append(.lookedAgain) }
        case .roundEnded(let pause):
            try roundEnded(pause)
        case .cancel:
            // Who joined must not lose the trigger because of another's cancellation.
            try require(machine.flushCancelled(), is: isJoined, "whether another flush must start")
            events.append(.ended)
        }
        let phase: FlushStateMachine.Phase =
            isRunning ? .flushing(triggeredMeanwhile: isOwed, joined: isJoined) : .idle
        try require(machine.phase, is: phase, "the phase")
        try require(machine.pausedUntil, is: pausedUntil, "the pause")
        try require(machine.clearings, is: clearings, "the clearings")
    }

    private mutating func triggered() throws {
        let expected: FlushStateMachine.Trigger
        if isRunning {
            expected = .join
            events.append(.joined)
        } else if clearings > 0 {
            expected = .clearing
        } else if let pausedUntil, now < pausedUntil {
            expected = .paused(until: pausedUntil)
        } else {
            expected = .start
            events.append(.began)
        }
        try require(machine.triggered(at: now), is: expected)
    }

    private mutating func roundEnded(_ pause: Int64?) throws {
        let isOwed = isOwed
        let until = pause.map { later($0) }
        events.append(until.map { .paused(until: $0) } ?? .pauseEnded)
        let expected: FlushStateMachine.After = isOwed && pause == nil ? .again : .rest
        events.append(expected == .again ? .roundBegan : .ended)
        try require(machine.roundEnded(pausedUntil: until), is: expected)
    }
}

@Suite struct FlushExplorationTests {
    @Test("in every state it can be in: one flush at a time, no trigger lost, no start during a pause or a clearing")
    func complete() throws {
        let explorer = Explorer(RecordedFlush(pauses: [0, 1, 3]), code: "RecordedFlush(pauses: [0, 1, 3])")
        let exploration = try explorer.explore()
        #expect(exploration.isComplete && exploration.transitions > 100, "\(exploration)")
    }

    @Test("as far as the effort goes, with long pauses: one flush at a time, no trigger lost, no start during a pause")
    func far() throws {
        let pauses: [Int64] = [0, 5, 60, 10_000_000]
        let explorer = Explorer(
            RecordedFlush(pauses: pauses, waits: [1, 2]), code: "RecordedFlush(pauses: \(pauses), waits: [1, 2])")
        #expect(try explorer.explore(transitionsPerEffort: 10_000).transitions >= 10_000)
    }

    @Test(
        "through thousands of inputs, and at the ends of time: one flush at a time, no trigger lost",
        arguments: [(0, 1_000), (.min, .max / 4), (.max - 50, 7), (.max, 1)] as [(Int64, Int64)])
    func walks(start: Int64, wait: Int64) throws {
        let explorer = Explorer(
            RecordedFlush(pauses: [.min, -1, 0, wait, .max], start: start, waits: [0, 1, wait]),
            code: "RecordedFlush(pauses: [.min, -1, 0, \(wait), .max], start: \(start), waits: [0, 1, \(wait)])")
        try explorer.exploreRandomly(length: 3_000, seed: 10)
    }
}
