import Foundation
import ResilienceTesting
import Synchronization
import TestSupport
import Testing

/// The tests of linearizability, one after another, so that each has the cores to itself as far as it can.
@Suite(.serialized) struct Linearizability {}

/// Checks that an object under several threads answers as its model does under one.
///
/// - Parameters:
///   - lanes: how many the history has, if `afterwards` needs one of its own.
///   - histories: how many runs, times the environment's `RESILIENCE_EFFORT`.
///   - make: a new object for each run.
///   - play: what one thread does with it in one run.
///   - afterwards: what must be true of it when all have ended.
func expectLinearizable<Subject: Sendable, Model: SequentialModel>(
    _ model: Model, threads: Int = 3, lanes: Int? = nil, histories: Int = 20, seed: UInt64 = 1,
    make: () -> Subject,
    play: @escaping @Sendable (Subject, _ thread: Int, inout SeededNumbers, HistoryOf<Model>) -> Void,
    afterwards: (Subject, HistoryOf<Model>) async -> Void = { _, _ in },
    sourceLocation: SourceLocation = #_sourceLocation
) async {
    let effort = Effort.level
    var overlaps = 0
    var portion = 0
    // On a machine with much else to do the threads may run one after another. Then try again, a few times.
    while portion < effort || (overlaps < enoughOverlaps && portion < effort + 3) {
        let runs = (0..<histories).map { _ in (subject: make(), history: HistoryOf<Model>(threads: lanes ?? threads)) }
        let firstSeed = seed << 48 + UInt64(portion * histories * threads)
        await race(threads: threads, rounds: histories) { round, thread in
            var random = SeededNumbers(seed: firstSeed + UInt64(round * threads + thread))
            play(runs[round].subject, thread, &random, runs[round].history)
        }
        for run in runs {
            await afterwards(run.subject, run.history)
            overlaps += run.history.overlaps
            do {
                try run.history.check(against: model)
            } catch {
                Issue.record(error, sourceLocation: sourceLocation)
                return
            }
        }
        portion += 1
    }
    // A report, and not a failure: what else the machine does is not the code's fault.
    withKnownIssue("hardly any operations overlapped", isIntermittent: true) {
        #expect(overlaps >= enoughOverlaps, sourceLocation: sourceLocation)
    }
}

typealias HistoryOf<Model: SequentialModel> = History<Model.Input, Model.Answer>

/// How often each thread does something in one run.
let stepsEach = 100

/// Now and then, between two operations: else threads that share a core would run one after another.
func letOthersRun(_ random: inout SeededNumbers) {
    if random.below(8) == 0 { sched_yield() }
}

/// Fewer operations under way when another began, and a check says little.
private let enoughOverlaps = 10

/// Runs `body` on so many threads of the system, `rounds` times, each round beginning on all of them together.
///
/// Threads and not tasks: a task that waits for another by spinning may keep it from a thread to run on.
func race(threads: Int, rounds: Int, _ body: @escaping @Sendable (_ round: Int, _ thread: Int) -> Void) async {
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
        var turns = 0
        while arrivals.load(ordering: .acquiring) < (round + 1) * threads {
            turns += 1
            // With more threads than cores the one that is waited for needs this one's.
            if turns.isMultiple(of: 200) { sched_yield() }
        }
    }

    func isLastToEnd() -> Bool { ended.add(1, ordering: .acquiringAndReleasing).newValue == threads }
}

/// Any value, equal to another if all that they store reads the same: for values that are not `Hashable`.
struct Dumped<Value: Sendable>: Hashable, Sendable {
    var value: Value

    init(_ value: Value) { self.value = value }

    private var text: String {
        var text = ""
        dump(value, to: &text)
        return text
    }

    static func == (a: Self, b: Self) -> Bool { a.text == b.text }
    func hash(into hasher: inout Hasher) { hasher.combine(text) }
}

/// Objects that are used up quickly: all threads use the present one, until one of them moves on to the next.
final class OneAfterAnother<Object: Sendable>: Sendable {
    let all: [Object]
    private let number = Atomic(0)

    init(_ count: Int, _ make: () -> Object) { all = (0..<count).map { _ in make() } }

    func present(movingOn: Bool) -> (number: Int, object: Object) {
        let present = movingOn ? number.add(1, ordering: .relaxed).newValue : number.load(ordering: .relaxed)
        let index = min(present, all.count - 1)
        return (index, all[index])
    }
}
