import Resilience
import Synchronization

/// A record of concurrent operations on an object, and its answers.
///
/// ```swift
/// let history = History<Register.Input, Int?>(threads: 2)
/// // On each thread, by its number:
/// history.record(.write(7), onThread: 0) {
///     register.write(7)
///     return nil
/// }
/// // When all have ended:
/// // A value with `apply(_:) -> Answer`.
/// try history.check(against: Register())
/// ```
///
/// The object is linearizable if each operation seems to happen at one instant between its call and its return
/// (Herlihy, Wing, "Linearizability: A Correctness Condition for Concurrent Objects", TOPLAS 1990). Two to four threads
/// are enough, with a hundred operations each: the more operations overlap, the longer the check takes.
public final class History<Input: Sendable, Answer: Sendable & Equatable>: Sendable {
    struct Operation: Sendable {
        let thread: Int
        let input: Input
        let invoked: Int
        /// nil while the operation has not returned. The operation may nevertheless have had its effect.
        var answer: Answer?
        var returned = Int.max
    }

    /// One thread's operations. Only that thread locks them while it records, so recording does not order the threads.
    private final class Lane: Sendable {
        let operations = Locked<[Operation]>([])
    }

    private let lanes: [Lane]
    private let ticks = Atomic(0)
    private let whenBegun: @Sendable (_ thread: Int) -> Void

    /// Creates an empty history.
    ///
    /// - Parameter threads: The number of threads; they are numbered from 0.
    public convenience init(threads: Int) { self.init(threads: threads) { _ in } }

    /// - Parameter whenBegun: Called by each thread after it has recorded an operation's beginning, before it does the
    ///   operation.
    package init(threads: Int, whenBegun: @escaping @Sendable (_ thread: Int) -> Void) {
        lanes = (0..<threads).map { _ in Lane() }
        self.whenBegun = whenBegun
    }

    /// Runs an operation, and records it.
    ///
    /// - Parameters:
    ///   - input: The operation's input.
    ///   - thread: The number of the calling thread, from 0.
    ///   - operation: The operation itself.
    /// - Returns: The operation's answer.
    @discardableResult
    public func record(_ input: Input, onThread thread: Int, _ operation: () -> Answer) -> Answer {
        begin(input, onThread: thread)
        let answer = operation()
        end(answer, onThread: thread)
        return answer
    }

    /// Records that an operation is about to be called.
    ///
    /// If its end is never recorded, it may or may not have happened.
    ///
    /// Traps if the thread's previous operation has not ended.
    ///
    /// - Parameters:
    ///   - input: The operation's input.
    ///   - thread: The number of the calling thread, from 0.
    public func begin(_ input: Input, onThread thread: Int) {
        lanes[thread].operations.withLock { operations in
            precondition(
                operations.last.map { $0.answer != nil } ?? true,
                "History: thread \(thread) begins an operation inside another")
            operations.append(Operation(thread: thread, input: input, invoked: tick()))
        }
        whenBegun(thread)
    }

    /// Records that this thread's latest operation has returned.
    ///
    /// Traps if there is no such operation.
    ///
    /// - Parameters:
    ///   - answer: The operation's answer.
    ///   - thread: The number of the calling thread, from 0.
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

    /// The number of operations that had not returned when the next operation began.
    ///
    /// If this is 0, a check of the history shows nothing.
    public var overlaps: Int {
        let operations = operationsByThread.joined().sorted { $0.invoked < $1.invoked }
        return zip(operations, operations.dropFirst()).count { $1.invoked < $0.returned }
    }

    /// Checks that some order of the operations explains their answers.
    ///
    /// An operation that returned before another was called must come first in the order, and in that order the model
    /// must give the very same answers.
    ///
    /// - Parameter model: The object's sequential behavior, in the state in which the history began.
    /// - Throws: ``NotLinearizable`` if there is no such order. The error shows the shortest beginning of the history
    ///   that can't be explained.
    public func check<Model: SequentialModel>(against model: Model) throws(NotLinearizable)
    where Model.Input == Input, Model.Answer == Answer {
        let lanes = operationsByThread
        var search = LinearizabilitySearch(lanes, from: model)
        if search.findsOrder() { return }
        // A history with an unexplainable beginning is itself unexplainable: find the first unexplainable return.
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
