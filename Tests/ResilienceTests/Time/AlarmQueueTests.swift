import Resilience
import TestSupport
import Testing

// C1
@Suite struct AlarmQueueTests {
    private let fired = Journal()

    private func action(_ name: String) -> AlarmAction {
        AlarmAction { [fired] in fired.note(name) }
    }

    private func fireDue(_ queue: inout AlarmQueue, at now: MonotonicInstant) {
        while let action = queue.popDue(at: now) { action.run() }
    }

    @Test("alarms fire in the order of their deadlines, whatever the order in which they were set")
    func order() {
        var queue = AlarmQueue()
        for second in [5, 1, 4, 2, 3] { _ = queue.insert(at: .second(Int64(second)), action("\(second)")) }
        #expect(queue.deadlines == (1...5).map { MonotonicInstant.second($0) })
        fireDue(&queue, at: .second(9))
        #expect(fired.lines == ["1", "2", "3", "4", "5"])
    }

    @Test("alarms of one instant fire in the order in which they were set")
    func ties() {
        var queue = AlarmQueue()
        for name in "abcdefgh" { _ = queue.insert(at: .second(1), action("\(name)")) }
        fireDue(&queue, at: .second(1))
        #expect(fired.lines.joined() == "abcdefgh")
    }

    @Test("an alarm fires at its deadline and not a nanosecond before")
    func notEarly() {
        var queue = AlarmQueue()
        _ = queue.insert(at: .second(1), action("a"))
        #expect(queue.popDue(at: MonotonicInstant(nanoseconds: 999_999_999)) == nil)
        #expect(queue.popDue(at: .second(1)) != nil)
        #expect(queue.count == 0 && queue.earliest == nil)
    }

    @Test("a cancelled alarm does not fire, and leaves nothing behind")
    func takenBack() {
        var queue = AlarmQueue()
        let alarms = "abc".map { queue.insert(at: .second(1), action("\($0)")) }
        #expect(queue.remove(alarms[1]) != nil)
        #expect(queue.count == 2)
        fireDue(&queue, at: .second(1))
        #expect(fired.lines == ["a", "c"])
    }

    @Test("cancelling an alarm that fired or was cancelled does not affect the alarm now in its slot")
    func staleReceipt() {
        var queue = AlarmQueue()
        let first = queue.insert(at: .second(1), action("first"))
        _ = queue.popDue(at: .second(1))
        let second = queue.insert(at: .second(1), action("second"))
        #expect(queue.remove(first) == nil)
        #expect(queue.remove(second) != nil)
        #expect(queue.remove(second) == nil)
    }

    @Test("a free slot is used again: the queue never grows beyond its largest number of pending alarms")
    func placesUsedAgain() {
        var queue = AlarmQueue()
        for _ in 0..<100 {
            let alarms = (0..<3).map { _ in queue.insert(at: .second(1), AlarmAction {}) }
            #expect(alarms.allSatisfy { $0.slot < 3 })
            queue.remove(alarms[1])
            while queue.popDue(at: .second(1)) != nil {}
        }
    }

    @Test("an alarm of another queue removes nothing")
    func foreignReceipt() {
        var queue = AlarmQueue()
        #expect(queue.remove(TimeBaseAlarm(slot: 7, generation: 0)) == nil)
        #expect(queue.remove(TimeBaseAlarm(slot: -1, generation: 0)) == nil)
    }

    @Test("an alarm of another time base cancels nothing, whether the slot that it names is in use or was")
    func foreignNumbers() {
        var queue = AlarmQueue()
        let removed = queue.insert(at: .second(1), action("removed"))
        for id in 0...2 as ClosedRange<UInt64> { #expect(queue.remove(TimeBaseAlarm(id: id)) == nil) }
        queue.remove(removed)
        _ = queue.insert(at: .second(2), action("second"))
        let third = queue.insert(at: .second(3), action("third"))
        queue.remove(third)
        // The alarm that the third alarm's slot will give out next.
        #expect(queue.remove(TimeBaseAlarm(slot: third.slot, generation: third.generation + 1)) == nil)
        for id in 0...2 as ClosedRange<UInt64> { #expect(queue.remove(TimeBaseAlarm(id: id)) == nil) }
        fireDue(&queue, at: .second(9))
        #expect(fired.lines == ["second"])
    }

    @Test("alarms at the beginning and the end of time are ordered like any other alarms")
    func ends() {
        var queue = AlarmQueue()
        _ = queue.insert(at: .distantFuture, action("never"))
        _ = queue.insert(at: .distantPast, action("at once"))
        fireDue(&queue, at: .second(0))
        #expect(fired.lines == ["at once"])
        #expect(queue.earliest == .distantFuture)
    }

    @Test("a cancelled alarm immediately releases the objects it holds")
    func letsGo() {
        final class Held: Sendable {}
        func holding(_ held: Held) -> AlarmAction { AlarmAction { _ = held } }
        var queue = AlarmQueue()
        var held: Held? = Held()
        weak let watched = held
        let alarm = queue.insert(at: .second(1), holding(held!))
        held = nil
        #expect(watched != nil)
        queue.remove(alarm)
        #expect(watched == nil)
    }

    /// The simplest correct queue: a sorted list.
    private struct Model {
        var entries: [(deadline: MonotonicInstant, number: Int)] = []

        mutating func insert(_ deadline: MonotonicInstant, _ number: Int) {
            let place = entries.firstIndex { deadline < $0.deadline } ?? entries.count
            entries.insert((deadline, number), at: place)
        }

        mutating func remove(_ number: Int) -> Bool {
            guard let place = entries.firstIndex(where: { $0.number == number }) else { return false }
            entries.remove(at: place)
            return true
        }

        mutating func popDue(at now: MonotonicInstant) -> Int? {
            guard let first = entries.first, first.deadline <= now else { return nil }
            return entries.removeFirst().number
        }
    }

    @Test("the queue behaves like a sorted list over 120 000 random operations", arguments: [1, 2])
    func agreesWithSortedList(seed: UInt64) {
        var random = SeededNumbers(seed: seed)
        var (queue, model) = (AlarmQueue(), Model())
        var alarms: [TimeBaseAlarm] = []
        let last = Box(-1)
        var disagreements = 0
        for step in 0..<60_000 {
            // With few distinct deadlines ties are frequent. The queue grows and shrinks in turns.
            let growing = (step / 500).isMultiple(of: 2)
            switch random.below(10) {
            case 0..<(growing ? 5 : 2):
                let (deadline, number) = (MonotonicInstant.second(Int64(random.below(50))), alarms.count)
                alarms.append(queue.insert(at: deadline, AlarmAction { last.value = number }))
                model.insert(deadline, number)
            case 5..<8 where !alarms.isEmpty:
                // Mostly recent alarms; many of them have fired or were removed before.
                let number = max(0, alarms.count - 1 - random.below(300))
                if (queue.remove(alarms[number]) != nil) != model.remove(number) { disagreements += 1 }
            default:
                let now = MonotonicInstant.second(Int64(random.below(50)))
                for _ in 0..<(growing ? 1 : 3) {
                    last.value = -1
                    queue.popDue(at: now)?.run()
                    if last.value != model.popDue(at: now) ?? -1 { disagreements += 1 }
                }
            }
            if queue.count != model.entries.count || queue.earliest != model.entries.first?.deadline {
                disagreements += 1
            }
        }
        #expect(disagreements == 0)
        #expect(queue.deadlines == model.entries.map(\.deadline))
    }
}
