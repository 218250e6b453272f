import Foundation
package import ResilienceTesting
import Synchronization
package import Testing

/// The linearizability tests, in sequence, so that each has the cores mostly to itself.
@Suite(.serialized) package struct Linearizability {}

/// Checks that an object on several threads answers like its model on one thread.
///
/// - Parameters:
///   - lanes: The number of lanes in the history, if `afterwards` needs its own.
///   - histories: The number of runs, times the environment's `RESILIENCE_EFFORT`.
///   - make: Makes a new object for each run.
///   - play: One thread's operations in one run.
///   - afterwards: Checks the object when all threads have ended.
package func expectLinearizable<Subject: Sendable, Model: SequentialModel>(
    _ model: Model, threads: Int = 3, lanes: Int? = nil, histories: Int = 20, seed: UInt64 = 1,
    make: () -> Subject,
    play: @escaping @Sendable (Subject, _ thread: Int, inout SeededNumbers, HistoryOf<Model>) -> Void,
    afterwards: (Subject, HistoryOf<Model>) async -> Void = { _, _ in },
    sourceLocation: SourceLocation = #_sourceLocation
) async {
    for portion in 0..<Effort.level {
        let runs = (0..<histories).map { _ in
            let meetings = Meetings(threads: threads)
            return (
                subject: make(), meetings: meetings,
                history: HistoryOf<Model>(threads: lanes ?? threads) { meetings.begun($0) }
            )
        }
        let firstSeed = seed << 48 + UInt64(portion * histories * threads)
        await race(threads: threads, rounds: histories) { round, thread in
            var random = SeededNumbers(seed: firstSeed + UInt64(round * threads + thread))
            play(runs[round].subject, thread, &random, runs[round].history)
            runs[round].meetings.ended(thread)
        }
        for run in runs {
            await afterwards(run.subject, run.history)
            #expect(
                run.history.overlaps > 0, "a history of one operation after another", sourceLocation: sourceLocation)
            do {
                try run.history.check(against: model)
            } catch {
                Issue.record(error, sourceLocation: sourceLocation)
                return
            }
        }
    }
}

package typealias HistoryOf<Model: SequentialModel> = History<Model.Input, Model.Answer>

/// How many operations each thread performs in one run.
package let stepsEach = 100

/// Where the threads of a history meet: in each thread's first operation and every sixteenth after it. The threads have
/// begun these operations, but not performed them. Then all perform them at once.
///
/// So operations overlap whatever else the machine does, even on one processor. The other operations overlap by chance:
/// a meeting makes more orders acceptable to the check.
///
/// Nobody waits for ever: each thread comes to its next meeting, or ends, and waits for no other before that.
private final class Meetings: Sendable {
    private final class Count: Sendable {
        let value = Atomic(0)
    }

    private let begun: [Count]

    init(threads: Int) { begun = (0..<threads).map { _ in Count() } }

    func begun(_ thread: Int) {
        // Once all have ended, others may add to the history.
        guard begun.indices.contains(thread) else { return }
        let count = begun[thread].value.add(1, ordering: .acquiringAndReleasing).newValue
        guard count % 16 == 1 else { return }
        for other in begun { spin { other.value.load(ordering: .acquiring) >= count } }
    }

    func ended(_ thread: Int) { begun[thread].value.store(.max, ordering: .releasing) }
}

/// Waits for another thread.
private func spin(until condition: () -> Bool) {
    var turns = 0
    while !condition() {
        turns += 1
        // With more threads than cores, the awaited thread needs this thread's core.
        if turns.isMultiple(of: 200) { sched_yield() }
    }
}

/// Runs `body` on this many system threads, `rounds` times; each round begins on all of them together.
///
/// Threads, not tasks: a task that spins until another task continues may occupy the thread that the other needs.
package func race(threads: Int, rounds: Int, _ body: @escaping @Sendable (_ round: Int, _ thread: Int) -> Void) async {
    let startLine = StartLine(threads: threads)
    await withCheckedContinuation { continuation in
        for thread in 0..<threads {
            Thread {
                for round in 0..<rounds {
                    startLine.wait(round: round)
                    body(round, thread)
                }
                if startLine.isLastToEnd() { continuation.resume() }
            }.start()
        }
    }
}

private final class StartLine: Sendable {
    private let threads: Int
    private let arrivals = Atomic(0)
    private let ended = Atomic(0)

    init(threads: Int) { self.threads = threads }

    func wait(round: Int) {
        arrivals.add(1, ordering: .acquiringAndReleasing)
        spin { arrivals.load(ordering: .acquiring) >= (round + 1) * threads }
    }

    func isLastToEnd() -> Bool { ended.add(1, ordering: .acquiringAndReleasing).newValue == threads }
}

/// Any value, for types that are not `Hashable`: two are equal if all their stored values have the same text.
package struct Dumped<Value: Sendable>: Hashable, Sendable {
    package var value: Value

    package init(_ value: Value) { self.value = value }

    private var text: String {
        var text = ""
        dump(value, to: &text)
        return text
    }

    package static func == (a: Self, b: Self) -> Bool { a.text == b.text }
    package func hash(into hasher: inout Hasher) { hasher.combine(text) }
}

/// Objects that are used up quickly: all threads use the current object, until a thread moves on to the next.
package final class OneAfterAnother<Object: Sendable>: Sendable {
    package let all: [Object]
    private let number = Atomic(0)

    package init(_ count: Int, _ make: () -> Object) { all = (0..<count).map { _ in make() } }

    package func present(movingOn: Bool) -> (number: Int, object: Object) {
        let present = movingOn ? number.add(1, ordering: .relaxed).newValue : number.load(ordering: .relaxed)
        let index = min(present, all.count - 1)
        return (index, all[index])
    }
}
