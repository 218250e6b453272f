import Resilience
import ResilienceTesting
import Testing

@testable import ResilienceSync

// C1
@Suite struct FlushStateMachineTests {
    private let later = MonotonicInstant(nanoseconds: 1_000)
    private var machine = FlushStateMachine()

    @Test("the first trigger starts a flush, and every other joins it (B12)")
    mutating func oneAtATime() {
        #expect(machine.triggered(pausedUntil: nil) == .start)
        #expect(machine.phase == .flushing(triggeredMeanwhile: false, joined: false))
        #expect(machine.triggered(pausedUntil: nil) == .join)
        #expect(machine.triggered(pausedUntil: nil) == .join)
        #expect(machine.phase == .flushing(triggeredMeanwhile: true, joined: true))
    }

    @Test("a round that nobody triggered during ends the flush")
    mutating func rest() {
        _ = machine.triggered(pausedUntil: nil)
        #expect(machine.roundEnded(isPaused: false) == .rest)
        #expect(machine.phase == .idle)
    }

    @Test("however many triggers came during a round, one more round answers them all (B12)")
    mutating func again() {
        _ = (
            machine.triggered(pausedUntil: nil), machine.triggered(pausedUntil: nil),
            machine.triggered(pausedUntil: nil)
        )
        #expect(machine.roundEnded(isPaused: false) == .again)
        #expect(machine.phase == .flushing(triggeredMeanwhile: false, joined: true))
        #expect(machine.roundEnded(isPaused: false) == .rest)
    }

    @Test("a pause ends the flush whoever triggered meanwhile, and nothing starts before its end (B8)")
    mutating func pause() {
        _ = (machine.triggered(pausedUntil: nil), machine.triggered(pausedUntil: nil))
        #expect(machine.roundEnded(isPaused: true) == .rest)
        #expect(machine.triggered(pausedUntil: later) == .paused(until: later))
        #expect(machine.phase == .idle)
        #expect(machine.triggered(pausedUntil: nil) == .start)
    }

    @Test("a trigger joins the flush that is under way, pause or not")
    mutating func joinInAPause() {
        _ = machine.triggered(pausedUntil: nil)
        #expect(machine.triggered(pausedUntil: later) == .join)
    }

    @Test("once stopped nothing starts and nobody joins")
    mutating func stop() {
        _ = machine.triggered(pausedUntil: nil)
        machine.stop()
        #expect(machine.triggered(pausedUntil: nil) == .stopped)
        #expect(machine.roundEnded(isPaused: false) == .rest)
        #expect(machine.triggered(pausedUntil: nil) == .stopped)
    }

    @Test("a cancelled flush must be followed by another only if somebody had joined it (B12)")
    mutating func cancelled() {
        _ = machine.triggered(pausedUntil: nil)
        let alone = machine.flushCancelled()
        #expect(!alone)
        #expect(machine.phase == .idle)
        _ = (machine.triggered(pausedUntil: nil), machine.triggered(pausedUntil: nil))
        let joined = machine.flushCancelled()
        #expect(joined && machine.phase == .idle)
    }

    @Test("one who joined in an earlier round still counts on the flush when it is cancelled (B12)")
    mutating func cancelledInSecondRound() {
        _ = (machine.triggered(pausedUntil: nil), machine.triggered(pausedUntil: nil))
        #expect(machine.roundEnded(isPaused: false) == .again)
        let joined = machine.flushCancelled()
        #expect(joined)
    }

    @Test("a round that takes a trigger looks again itself, so that no other round does, and it is taken once (B12)")
    mutating func takeTrigger() {
        let idle = machine.takeTrigger()
        _ = machine.triggered(pausedUntil: nil)
        let ofItself = machine.takeTrigger()
        #expect(!idle && !ofItself)
        _ = machine.triggered(pausedUntil: nil)
        let first = machine.takeTrigger()
        let second = machine.takeTrigger()
        #expect(first && !second)
        #expect(machine.phase == .flushing(triggeredMeanwhile: false, joined: true))
        #expect(machine.roundEnded(isPaused: false) == .rest)
    }

    @Test("a trigger after one that was taken is not lost (B12)")
    mutating func triggerAfterTaken() {
        _ = (machine.triggered(pausedUntil: nil), machine.triggered(pausedUntil: nil))
        _ = machine.takeTrigger()
        #expect(machine.triggered(pausedUntil: nil) == .join)
        #expect(machine.roundEnded(isPaused: false) == .again)
    }

    @Test("one whose trigger was taken still counts on the flush when it is cancelled (B12)")
    mutating func cancelledAfterTaken() {
        _ = (machine.triggered(pausedUntil: nil), machine.triggered(pausedUntil: nil))
        _ = machine.takeTrigger()
        let joined = machine.flushCancelled()
        #expect(joined)
    }

    @Test("nothing starts until every clearing has ended (B9)")
    mutating func clearing() {
        machine.clearingBegan()
        machine.clearingBegan()
        #expect(machine.triggered(pausedUntil: nil) == .clearing)
        machine.clearingEnded()
        #expect(machine.triggered(pausedUntil: nil) == .clearing)
        machine.clearingEnded()
        #expect(machine.triggered(pausedUntil: nil) == .start)
    }

    @Test(
        "100 000 random inputs: one flush at a time, no trigger lost, no start during a pause or a clearing (B12)",
        arguments: 1...5)
    func walk(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var machine = FlushStateMachine()
        var running = 0
        // A trigger that no later look of the round, or round, has begun to answer.
        var owed = false
        var pausedUntil: MonotonicInstant?
        var clearings = 0
        var holds = true
        func check(_ condition: Bool) { holds = holds && condition }
        for _ in 0..<100_000 where holds {
            switch Int.random(in: 0..<9, using: &random) {
            case 0..<3:
                switch machine.triggered(pausedUntil: pausedUntil) {
                case .start:
                    check(running == 0 && pausedUntil == nil && clearings == 0)
                    running += 1
                    owed = false
                case .join:
                    check(running == 1)
                    owed = true
                case .paused(let until): check(running == 0 && until == pausedUntil)
                case .clearing: check(running == 0 && clearings > 0)
                case .stopped: check(false)
                }
            case 3, 4:
                guard running == 1 else { continue }
                let isPaused = Bool.random(using: &random)
                let expected: FlushStateMachine.After = owed && !isPaused ? .again : .rest
                check(machine.roundEnded(isPaused: isPaused) == expected)
                owed = false
                if expected == .rest { running -= 1 }
            case 5:
                guard running == 1 else { continue }
                // Never says no to one who is owed another look.
                check(machine.flushCancelled() || !owed)
                (running, owed) = (0, false)
            case 6:
                pausedUntil = pausedUntil == nil ? later : nil
            case 7:
                check(machine.takeTrigger() == owed)
                owed = false
            default:
                if clearings > 0, Bool.random(using: &random) {
                    machine.clearingEnded()
                    clearings -= 1
                } else if clearings < 2 {
                    machine.clearingBegan()
                    clearings += 1
                }
            }
        }
        #expect(holds)
    }
}
