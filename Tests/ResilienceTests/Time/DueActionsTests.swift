import TestSupport
import Testing

@testable import Resilience

@Suite struct DueActionsTests {
    private typealias Body = @Sendable () -> Void

    private let journal = Journal()
    private let handedOn = Box<[Body]>([])

    private func run(_ actions: [Body]) {
        DueActions(actions.map { AlarmAction($0) }) { [handedOn] body in handedOn.value.append(body) }.run()
    }

    /// Runs the actions that were handed on, as another thread would.
    private func helpOut() {
        for body in handedOn.exchange([]) { body() }
    }

    @Test("each action runs once and in order, even without a free thread, and a late thread finds nothing to do")
    func alone() {
        run((1...3).map { number in { [journal] in journal.note("\(number)") } })
        #expect(journal.lines == ["1", "2", "3"] && handedOn.value.count == 1)
        helpOut()
        #expect(journal.lines == ["1", "2", "3"])
    }

    @Test(
        "while an action blocks, another thread runs the next actions; if it also blocks, a third thread does (P43)")
    func blocked() {
        run([
            {
                journal.note("1 begins")
                helpOut()
                journal.note("1 ends")
            },
            {
                journal.note("2 begins")
                helpOut()
                journal.note("2 ends")
            },
            { [journal] in journal.note("3") },
        ])
        #expect(journal.lines == ["1 begins", "2 begins", "3", "2 ends", "1 ends"])
    }

    @Test("no help is requested for a single action, or if there is none", arguments: [0, 1])
    func few(count: Int) {
        run((0..<count).map { number in { [journal] in journal.note("\(number)") } })
        #expect(journal.lines.count == count && handedOn.value.isEmpty)
    }
}
