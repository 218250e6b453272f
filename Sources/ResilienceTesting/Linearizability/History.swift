import Resilience
import Synchronization

/// What several threads asked of an object at the same time, and what it answered.
///
/// ```swift
/// let history = History<Register.Input, Int?>(threads: 2)
/// // On each thread, by its number:
/// history.record(.write(7), onThread: 0) {
///     register.write(7)
///     return nil
/// }
/// // When all have ended:
/// try history.check(against: Register())       // a value with `apply(_:) -> Answer`
/// ```
///
/// The object is linearizable if each operation seems to happen at one instant between its call and its return (Herlihy,
/// Wing, "Linearizability: A Correctness Condition for Concurrent Objects", TOPLAS 1990). Two to four threads are enough,
/// and a hundred operations of each: the more are under way at the same time, the longer the check.
public final class History<Input: Sendable, Answer: Sendable & Equatable>: Sendable {
    struct Operation: Sendable {
        let thread: Int
        let input: Input
        let invoked: Int
        /// nil while it has not returned. It may have had its effect all the same.
        var answer: Answer?
        var returned = Int.max
    }

    /// One thread's operations. Only that thread locks it, so that recording does not put threads in order.
    private final class Lane: Sendable {
        let operations = Locked<[Operation]>([])
    }

    private let lanes: [Lane]
    private let ticks = Atomic(0)
    private let whenBegun: @Sendable (_ thread: Int) -> Void

    /// - Parameter threads: how many there are; they are numbered from 0.
    public convenience init(threads: Int) { self.init(threads: threads) { _ in } }

    /// - Parameter whenBegun: called by each thread when it has begun an operation, before it does it.
    package init(threads: Int, whenBegun: @escaping @Sendable (_ thread: Int) -> Void) {
        lanes = (0..<threads).map { _ in Lane() }
        self.whenBegun = whenBegun
    }

    /// Does the operation, and remembers it.
    @discardableResult
    public func record(_ input: Input, onThread thread: Int, _ operation: () -> Answer) -> Answer {
        begin(input, onThread: thread)
        let answer = operation()
        end(answer, onThread: thread)
        return answer
    }

    /// An operation is about to be called. One whose end is never told counts as under way: it may have happened or not.
    public func begin(_ input: Input, onThread thread: Int) {
        lanes[thread].operations.withLock { operations in
            precondition(
                operations.last.map { $0.answer != nil } ?? true,
                "History: thread \(thread) begins an operation inside another")
            operations.append(Operation(thread: thread, input: input, invoked: tick()))
        }
        whenBegun(thread)
    }

    /// The operation that this thread began last has returned.
    public func end(_ answer: Answer, onThread thread: Int) {
        let now = tick()
        lanes[thread].operations.withLock { operations in
            precondition(
                operations.last.map { $0.answer == nil } ?? false,
                "History: thread \(thread) ends an operation that it did not begin")
            operations[operations.count - 1].answer = answer
            operations[operations.count - 1].returned = now
        }
    }

    private func tick() -> Int { ticks.add(1, ordering: .sequentiallyConsistent).oldValue }

    /// How many operations were under way when another began. A check of a history without any is a check of nothing.
    public var overlaps: Int {
        let operations = operationsByThread.joined().sorted { $0.invoked < $1.invoked }
        return zip(operations, operations.dropFirst()).count { $1.invoked < $0.returned }
    }

    /// Looks for an order of the operations that respects who returned before whom was called, and in which the model
    /// gives the very same answers.
    /// - Throws: if there is none; the error shows the shortest beginning of the history that can't be explained.
    public func check<Model: SequentialModel>(against model: Model) throws(NotLinearizable)
    where Model.Input == Input, Model.Answer == Answer {
        let lanes = operationsByThread
        var search = LinearizabilitySearch(lanes, from: model)
        if search.findsOrder() { return }
        // What begins like an unexplainable history is unexplainable: look for the first return that is too much.
        let returns = lanes.joined().map(\.returned).filter { $0 < .max }.sorted()
        var (explained, unexplained) = (-1, returns.count - 1)
        while explained + 1 < unexplained {
            let middle = (explained + unexplained) / 2
            var shorter = LinearizabilitySearch(Self.cut(lanes, after: returns[middle]), from: model)
            if shorter.findsOrder() {
                explained = middle
            } else {
                (unexplained, search) = (middle, shorter)
            }
        }
        throw NotLinearizable(search)
    }

    var operationsByThread: [[Operation]] { lanes.map { $0.operations.withLock { $0 } } }

    private static func cut(_ lanes: [[Operation]], after end: Int) -> [[Operation]] {
        lanes.map { operations in
            operations.prefix { $0.invoked < end }.map { operation in
                guard operation.returned > end else { return operation }
                return Operation(thread: operation.thread, input: operation.input, invoked: operation.invoked)
            }
        }
    }
}
