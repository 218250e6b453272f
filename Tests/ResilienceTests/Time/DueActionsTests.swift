import ResilienceTesting
import Testing

@testable import Resilience

@Suite struct DueActionsTests {
    let journal = Journal()

    @Test("alarms that are due together are begun in their order")
    func order() {
        let actions = (1...3).map { number in { [journal] in journal.note("\(number)") } as AlarmQueue.Action }
        DueActions(actions, elsewhere: { _ in }).run()
        #expect(journal.lines == ["1", "2", "3"])
    }

    @Test("an alarm whose action blocks holds up no other: they are begun elsewhere, each once (P43)")
    func blocked() {
        let elsewhere = Locked<(@Sendable () -> Void)?>(nil)
        // As long as the first runs, another thread does what was handed to it.
        let first: AlarmQueue.Action = { [journal] in
            elsewhere.withLock { $0 }?()
            journal.note("1 ended")
        }
        let others = (2...3).map { number in { [journal] in journal.note("\(number)") } as AlarmQueue.Action }
        DueActions([first] + others, elsewhere: { body in elsewhere.withLock { $0 = body } }).run()
        #expect(journal.lines == ["2", "3", "1 ended"])
    }
}
