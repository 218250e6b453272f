import Resilience
import ResilienceTesting
import Testing

@testable import ResilienceSync

@Suite struct FlushStateMachineTests {
    private let now = Instant(nanoseconds: 1_000)
    private var later: Instant { now + .seconds(1) }
    private var machine = FlushStateMachine()

    @Test("the first trigger starts a flush, and every other joins it (B12)")
    mutating func oneAtATime() {
        #expect(machine.triggered(at: now) == .start)
        #expect(machine.phase == .flushing(triggeredMeanwhile: false, joined: false))
        #expect(machine.triggered(at: now) == .join)
        #expect(machine.triggered(at: later) == .join)
        #expect(machine.phase == .flushing(triggeredMeanwhile: true, joined: true))
    }

    @Test("a round that nobody triggered during ends the flush")
    mutating func rest() {
        _ = machine.triggered(at: now)
        #expect(machine.roundEnded(pausedUntil: nil) == .rest)
        #expect(machine.phase == .idle)
    }

    @Test("however many triggers came during a round, one more round answers them all (B12)")
    mutating func again() {
        _ = (machine.triggered(at: now), machine.triggered(at: now), machine.triggered(at: now))
        #expect(machine.roundEnded(pausedUntil: nil) == .again)
        #expect(machine.phase == .flushing(triggeredMeanwhile: false, joined: true))
        #expect(machine.roundEnded(pausedUntil: nil) == .rest)
    }

    @Test("a pause ends the flush whoever triggered meanwhile, and nothing starts before its end (B8)")
    mutating func pause() {
        _ = (machine.triggered(at: now), machine.triggered(at: now))
        #expect(machine.roundEnded(pausedUntil: later) == .rest)
        #expect(machine.triggered(at: now) == .paused(until: later))
        #expect(machine.triggered(at: Instant(nanoseconds: later.nanoseconds - 1)) == .paused(until: later))
        #expect(machine.triggered(at: later) == .start)
        #expect(machine.pausedUntil == nil)
    }

    @Test("a pause that is ended early no longer stops anybody")
    mutating func endPause() {
        _ = machine.triggered(at: now)
        _ = machine.roundEnded(pausedUntil: .distantFuture)
        machine.endPause()
        #expect(machine.triggered(at: now) == .start)
    }

    @Test("a cancelled flush must be followed by another only if somebody had joined it (B12)")
    mutating func cancelled() {
        _ = machine.triggered(at: now)
        let alone = machine.flushCancelled()
        #expect(!alone)
        #expect(machine.phase == .idle)
        _ = (machine.triggered(at: now), machine.triggered(at: now))
        let joined = machine.flushCancelled()
        #expect(joined && machine.phase == .idle)
    }

    @Test("one who joined in an earlier round still counts on the flush when it is cancelled (B12)")
    mutating func cancelledInSecondRound() {
        _ = (machine.triggered(at: now), machine.triggered(at: now))
        #expect(machine.roundEnded(pausedUntil: nil) == .again)
        let joined = machine.flushCancelled()
        #expect(joined)
    }

    @Test("a round that takes a trigger looks again itself, so that no other round does, and it is taken once (B12)")
    mutating func takeTrigger() {
        let idle = machine.takeTrigger()
        _ = machine.triggered(at: now)
        let ofItself = machine.takeTrigger()
        #expect(!idle && !ofItself)
        _ = machine.triggered(at: now)
        let first = machine.takeTrigger()
        let second = machine.takeTrigger()
        #expect(first && !second)
        #expect(machine.phase == .flushing(triggeredMeanwhile: false, joined: true))
        #expect(machine.roundEnded(pausedUntil: nil) == .rest)
    }

    @Test("a trigger after one that was taken is not lost (B12)")
    mutating func triggerAfterTaken() {
        _ = (machine.triggered(at: now), machine.triggered(at: now))
        _ = machine.takeTrigger()
        #expect(machine.triggered(at: now) == .join)
        #expect(machine.roundEnded(pausedUntil: nil) == .again)
    }

    @Test("one whose trigger was taken still counts on the flush when it is cancelled (B12)")
    mutating func cancelledAfterTaken() {
        _ = (machine.triggered(at: now), machine.triggered(at: now))
        _ = machine.takeTrigger()
        let joined = machine.flushCancelled()
        #expect(joined)
    }

    @Test("nothing starts until every clearing has ended (B9)")
    mutating func clearing() {
        machine.clearingBegan()
        machine.clearingBegan()
        #expect(machine.triggered(at: now) == .clearing)
        machine.clearingEnded()
        #expect(machine.triggered(at: now) == .clearing)
        machine.clearingEnded()
        #expect(machine.triggered(at: now) == .start)
    }

    @Test(
        "100 000 random inputs: one flush at a time, no trigger lost, no start during a pause or a clearing",
        arguments: 1...5)
    func walk(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var machine = FlushStateMachine()
        var now = Instant(nanoseconds: 0)
        var running = 0
        // A trigger that no later look of the round, or round, has begun to answer.
        var owed = false
        var pausedUntil: Instant?
        var clearings = 0
        var holds = true
        func check(_ condition: Bool) { holds = holds && condition }
        for _ in 0..<100_000 where holds {
            now = now + .nanoseconds(Int64.random(in: 0...3, using: &random))
            let isPaused = pausedUntil.map { now < $0 } ?? false
            switch Int.random(in: 0..<9, using: &random) {
            case 0..<3:
                switch machine.triggered(at: now) {
                case .start:
                    check(running == 0 && !isPaused && clearings == 0)
                    running += 1
                    (owed, pausedUntil) = (false, nil)
                case .join:
                    check(running == 1)
                    owed = true
                case .paused(let until): check(running == 0 && isPaused && until == pausedUntil)
                case .clearing: check(running == 0 && clearings > 0)
                }
            case 3, 4:
                guard running == 1 else { continue }
                pausedUntil =
                    Bool.random(using: &random) ? now + .nanoseconds(Int64.random(in: 0...9, using: &random)) : nil
                let expected: FlushStateMachine.After = owed && pausedUntil == nil ? .again : .rest
                check(machine.roundEnded(pausedUntil: pausedUntil) == expected)
                owed = false
                if expected == .rest { running -= 1 }
            case 5:
                guard running == 1 else { continue }
                // Never says no to one who is owed another look.
                check(machine.flushCancelled() || !owed)
                (running, owed) = (0, false)
            case 6:
                machine.endPause()
                pausedUntil = nil
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
