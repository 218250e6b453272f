import ResilienceTesting
import Testing

/// One number that can be written, read and added to.
private struct Register: SequentialModel {
    enum Input: Sendable {
        case write(Int)
        case read
        case add(Int)
    }

    var value = 0

    /// - Returns: The value after a write, or before an addition.
    mutating func apply(_ input: Input) -> Int {
        switch input {
        case .write(let new): value = new
        case .read: break
        case .add(let more):
            defer { value += more }
            return value
        }
        return value
    }
}

// C8
@Suite struct HistoryTests {
    private let history = History<Register.Input, Int>(threads: 3)

    private func isLinearizable() -> Bool { (try? history.check(against: Register())) != nil }

    @Test("a history without operations is linearizable, and so is one thread with correct answers")
    func alone() {
        #expect(isLinearizable())
        history.record(.write(7), onThread: 0) { 7 }
        history.record(.read, onThread: 0) { 7 }
        #expect(isLinearizable() && history.overlaps == 0)
    }

    @Test("a read that overlaps a write may see it or not", arguments: [0, 7])
    func eitherWay(seen: Int) {
        history.begin(.write(7), onThread: 0)
        history.record(.read, onThread: 1) { seen }
        history.end(7, onThread: 0)
        #expect(isLinearizable() && history.overlaps == 1)
    }

    @Test("a read after a write has returned must see it: a stale read is found")
    func staleRead() {
        history.record(.write(7), onThread: 0) { 7 }
        history.record(.read, onThread: 1) { 0 }
        #expect(!isLinearizable() && history.overlaps == 0)
    }

    @Test("once a read has seen a write, no later read may miss it, even before the write returns")
    func newOldInversion() {
        history.begin(.write(7), onThread: 0)
        history.record(.read, onThread: 1) { 7 }
        history.record(.read, onThread: 2) { 0 }
        history.end(7, onThread: 0)
        #expect(!isLinearizable())
    }

    @Test("two additions that begin at the same value are found as a lost update")
    func lostUpdate() {
        history.begin(.add(1), onThread: 0)
        history.record(.add(1), onThread: 1) { 0 }
        history.end(0, onThread: 0)
        #expect(!isLinearizable())
    }

    @Test("an answer that nothing explains is found, however operations overlap")
    func fromNowhere() {
        history.begin(.write(1), onThread: 0)
        history.begin(.write(2), onThread: 1)
        history.record(.read, onThread: 2) { 3 }
        history.end(1, onThread: 0)
        history.end(2, onThread: 1)
        #expect(!isLinearizable())
    }

    @Test("effects need not have the order of the calls: an operation that began last may have happened first")
    func lastFirst() {
        history.begin(.add(1), onThread: 0)
        history.begin(.add(1), onThread: 1)
        history.begin(.add(1), onThread: 2)
        history.end(2, onThread: 0)
        history.end(1, onThread: 1)
        history.end(0, onThread: 2)
        #expect(isLinearizable())
    }

    @Test("a wrong first guess is undone: the first to return need not have happened first")
    func wayBack() {
        history.begin(.write(1), onThread: 0)
        history.begin(.write(2), onThread: 1)
        history.end(1, onThread: 0)
        history.end(2, onThread: 1)
        history.record(.read, onThread: 2) { 1 }
        #expect(isLinearizable())
    }

    @Test("an operation that never returned may have happened, or not", arguments: [0, 7])
    func pending(seen: Int) {
        history.begin(.write(7), onThread: 0)
        history.record(.read, onThread: 1) { seen }
        #expect(isLinearizable())
    }

    @Test("once seen, the effect of an operation that never returned can't disappear")
    func pendingOnce() {
        history.begin(.write(7), onThread: 0)
        history.record(.read, onThread: 1) { 7 }
        history.record(.read, onThread: 1) { 0 }
        #expect(!isLinearizable())
    }

    @Test("the error shows the shortest unexplained beginning, thread by thread, and where it ends")
    func text() {
        history.begin(.write(7), onThread: 0)
        history.record(.read, onThread: 1) { 7 }
        history.begin(.read, onThread: 2)
        history.end(7, onThread: 0)
        history.end(0, onThread: 2)
        history.record(.write(8), onThread: 1) { 8 }
        let error = #expect(throws: NotLinearizable.self) { try history.check(against: Register()) }
        #expect(
            error?.description == """
                Not linearizable: no order of these operations gives their answers.

                thread 0     thread 1   thread 2
                ┌ write(7)
                │            ┌ read
                │            └ 7
                │                       ┌ read
                └ 7                     │
                                        └ 0

                The longest order that fits:
                  thread 0: write(7) → 7
                  thread 1: read → 7
                After it the model answers otherwise:
                  thread 2: read → 0, and not 7
                """)
    }

    private struct Timed {
        let input: Register.Input
        let invoked: Int
        var answer: Int?
        var returned = 0
    }

    /// Tries every order of the threads' operations.
    private func isLinearizableByTrying(_ rest: [[Timed]], _ model: Register = Register()) -> Bool {
        if rest.allSatisfy(\.isEmpty) { return true }
        return rest.indices.contains { thread in
            guard let next = rest[thread].first else { return false }
            let mustWait = rest.joined().contains { $0.returned < next.invoked }
            var (model, rest) = (model, rest)
            rest[thread].removeFirst()
            return !mustWait && model.apply(next.input) == next.answer && isLinearizableByTrying(rest, model)
        }
    }

    @Test("on 1 000 random histories, half of them with a wrong answer, the check agrees with trying every order")
    func agreesWithTryingAll() {
        var random = SeededGenerator(seed: 1)
        var explained = 0
        for _ in 0..<1_000 {
            let history = History<Register.Input, Int>(threads: 3)
            var register = Register()
            var timed: [[Timed]] = [[], [], []]
            var wrong = Bool.random(using: &random) ? Int.random(in: 0..<12, using: &random) : -1
            // Operations begin and end in turns, and take effect at their beginning or at their end.
            for time in 0..<15 {
                let thread = time < 12 ? Int.random(in: 0..<3, using: &random) : time - 12
                if var operation = timed[thread].last, operation.returned == 0 {
                    operation.returned = time
                    operation.answer = operation.answer ?? register.apply(operation.input)
                    if time >= wrong, wrong >= 0 { (operation.answer, wrong) = (operation.answer! + 1, -1) }
                    history.end(operation.answer!, onThread: thread)
                    timed[thread][timed[thread].count - 1] = operation
                } else if time < 12 {
                    let input = [Register.Input.write(time), .read, .add(1)].randomElement(using: &random)!
                    let answer = Bool.random(using: &random) ? register.apply(input) : nil
                    history.begin(input, onThread: thread)
                    timed[thread].append(Timed(input: input, invoked: time, answer: answer))
                }
            }
            let expected = isLinearizableByTrying(timed)
            if expected { explained += 1 }
            #expect(((try? history.check(against: Register())) != nil) == expected)
        }
        #expect((200...800).contains(explained), "\(explained)")
    }
}
