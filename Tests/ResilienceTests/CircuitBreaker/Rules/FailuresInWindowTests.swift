import TestSupport
import Testing

@testable import Resilience

@Suite struct FailuresInWindowTests {
    /// f fails, s succeeds, . is inconclusive; one per second.
    private func play(_ history: String, into rule: inout FailuresInWindow, from second: Int64 = 0) -> [Bool] {
        zip(history, second...).map { letter, second in
            rule.ended(letter == "f" ? .transient : letter == "s" ? .success : .throttled, at: .second(second))
        }
    }

    @Test(
        "a failure ratio is met on the failure that reaches it, but not before the minimum of calls",
        arguments: [
            ("fff", "nnn"), ("ffff", "nnny"), ("ffss", "nnny"), ("fsssf", "nnnnn"), ("sssff", "nnnnn"),
            ("ssfff", "nnnyy"), ("fffss", "nnnyy"), ("ff..ff", "nnnnny"), ("ssssffff", "nnnnnnyy"),
            ("ssssssss", "nnnnnnnn"),
        ])
    func ratioOfCalls(history: String, met: String) {
        var rule = FailuresInWindow.failureRatio(0.5, over: .calls(6), minimumCalls: 4)
        #expect(play(history, into: &rule) == met.map { $0 == "y" })
    }

    @Test("a decimal ratio is exact: 3 of 30 calls meet 0.1, and fewer do not", arguments: [0.1, 0.2, 0.3, 0.7])
    func exactRatios(ratio: Double) {
        var rule = FailuresInWindow.failureRatio(ratio, over: .calls(30), minimumCalls: 30)
        let needed = Int((ratio * 30).rounded())
        #expect(play(String(repeating: "s", count: 30 - needed), into: &rule).last == false)
        #expect(
            play(String(repeating: "f", count: needed), into: &rule) == Array(repeating: false, count: needed - 1) + [
                true
            ])
    }

    @Test("in a time window a failure counts for the window's length, or up to one bucket less (P9)")
    func timePasses() {
        var rule = FailuresInWindow.failures(2, over: .time(.seconds(10), buckets: 5))
        #expect(rule.ended(.transient, at: .second(1)) == false)
        #expect(rule.counts(at: .second(9)).failureCount == 1)
        #expect(rule.counts(at: .second(10)).failureCount == 0)
        #expect(!rule.ended(.transient, at: .second(10)) && rule.ended(.transient, at: .second(17)))
        #expect(rule.counts(at: .second(17)) == TripCounts(failureCount: 2, failureLimit: 2, callCount: 2))
    }

    @Test("a time window before the clock's zero, or at an end of time, does not trap, and loses no call")
    func endsOfTime() {
        for start in [Int64.min, .min + 1, -25, -1, 0, .max - 1, .max] {
            var rule = FailuresInWindow.failures(2, over: .time(.nanoseconds(10), buckets: 3))
            let instant = MonotonicInstant(nanoseconds: start)
            #expect(!rule.ended(.transient, at: instant) && rule.ended(.transient, at: instant))
            #expect(rule.counts(at: instant).failureCount == 2 && rule.tallyEnds(after: instant) >= instant)
            #expect(rule.counts(at: .distantFuture).failureCount == (start > .max - 10 ? 2 : 0))
        }
    }

    @Test("a time window of the greatest length, with one bucket, keeps every call")
    func endless() {
        var rule = FailuresInWindow.failures(3, over: .time(.seconds(Int64.max), buckets: 1))
        for second in [0, 1_000_000, 2_000_000] { _ = rule.ended(.transient, at: .second(Int64(second))) }
        #expect(rule.isMet(at: .second(3_000_000)))
    }

    @Test(
        "a window of more calls than fit into two words counts like a list of the last calls",
        arguments: [64, 65, 128, 130, 200])
    func longWindows(size: Int) {
        var rule = FailuresInWindow.failures(size, over: .calls(size))
        var random = SeededNumbers(seed: UInt64(size))
        var all: [Bool] = []
        for _ in 0..<3 * size {
            all.append(random.below(3) == 0)
            _ = rule.ended(all[all.count - 1] ? .transient : .success)
            let last = all.suffix(size)
            #expect(rule.counts(at: .second(0)).failureCount == last.count { $0 })
            #expect(rule.counts(at: .second(0)).callCount == last.count)
        }
        #expect(rule.memory(at: .second(0)) == [2] + all.suffix(size).map { $0 ? 1 : 0 })
    }

    @Test("a window length that does not divide into its buckets is rounded up")
    func roundedUp() {
        let rule = FailuresInWindow.failures(2, over: .time(.nanoseconds(10), buckets: 3))
        #expect(rule.tallyEnds(after: MonotonicInstant(nanoseconds: 0)) == MonotonicInstant(nanoseconds: 4))
        #expect(rule.tallyEnds(after: MonotonicInstant(nanoseconds: -1)) == MonotonicInstant(nanoseconds: 0))
    }

    @Test("if a time window is asked with an earlier time than before, it returns the end of its newest bucket")
    func earlierTime() {
        var rule = FailuresInWindow.failures(2, over: .time(.seconds(10), buckets: 10))
        _ = rule.ended(.success, at: .second(50))
        #expect(rule.tallyEnds(after: .second(20)) == .second(51))
    }

    @Test(
        "a memory restores another rule to the same counts, even at the ends of time",
        arguments: [Int64.min, -7, .max])
    func memoryAtTheEnds(start: Int64) {
        var rule = FailuresInWindow.failures(2, over: .time(.nanoseconds(10), buckets: 3))
        let instant = MonotonicInstant(nanoseconds: start)
        _ = rule.ended(.transient, at: instant)
        var next = FailuresInWindow.failures(2, over: .time(.nanoseconds(10), buckets: 3))
        #expect(next.restore(rule.memory(at: instant), at: instant) == true)
        #expect(next.counts(at: instant) == TripCounts(failureCount: 1, failureLimit: 2, callCount: 1))
    }

    @Test("a memory can begin before the earliest reading, and can have the greatest length")
    func memoryOfAllTime() {
        for (window, failed, now) in [
            // Its bucket began before the earliest reading.
            (CallWindow.time(.nanoseconds(9), buckets: 3), Int64.min, Int64.min),
            // Rounded up to three equal buckets, the window is one nanosecond longer than the greatest length.
            (.time(.nanoseconds(Int64.max), buckets: 3), -2 * (.max / 3 + 1), .max / 3),
        ] {
            var rule = FailuresInWindow.failures(2, over: window)
            _ = rule.ended(.transient, at: MonotonicInstant(nanoseconds: failed))
            var next = FailuresInWindow.failures(2, over: window)
            let now = MonotonicInstant(nanoseconds: now)
            #expect(next.restore(rule.memory(at: now), at: now) == true)
            #expect(next.counts(at: now).failureCount == 1)
        }
    }

    @Test("the largest accepted memory has 100 000 buckets, each with its own age, and call counts of up to 32 bits")
    func largestMemory() {
        var rule = FailuresInWindow.failures(2, over: .time(.seconds(10)))
        let buckets = (0..<100_000).flatMap { _ in [1, 0, 1] }
        #expect(rule.restore([3] + buckets, at: .second(0)) == true)
        #expect(rule.counts(at: .second(0)).callCount == 100_000)
        #expect(rule.restore([3] + buckets + [1, 0, 1], at: .second(0)) == false)
        #expect(rule.restore([3, 0, 0, Int(Int32.max)], at: .second(0)) == true)
        #expect(rule.restore([3, 0, 0, Int(Int32.max) + 1], at: .second(0)) == false)
    }

    @Test("the counted verdicts can be chosen, for example only 429s")
    func chosen() {
        var rule = FailuresInWindow.failureRatio(
            0.5, over: .calls(4), minimumCalls: 2, failing: .throttled, healthy: .success)
        #expect(!rule.ended(.transient) && !rule.ended(.throttled) && rule.ended(.throttled))
        #expect("\(rule)" == "opens on 0.5 of the last 4 calls being throttled, of at least 2")
    }

    @Test(
        "a rule with another window takes over the latest calls that fit",
        arguments: [(CallWindow.calls(8), CallWindow.calls(4)), (.calls(4), .calls(100)), (.calls(3), .calls(3))])
    func memoryOfCalls(old: CallWindow, new: CallWindow) {
        var rule = FailuresInWindow.failures(3, over: old)
        _ = play("fsfssfsf", into: &rule)
        var next = FailuresInWindow.failures(3, over: new)
        #expect(next.restore(rule.memory(at: .second(9)), at: .second(9)) == true)
        var expected = FailuresInWindow.failures(3, over: new)
        guard case .calls(let size) = old.kind else { return }
        _ = play(String("fsfssfsf".suffix(size)), into: &expected)
        #expect(next.counts(at: .second(9)) == expected.counts(at: .second(9)))
        #expect(play("fsf", into: &next) == play("fsf", into: &expected))
    }

    @Test("the counts of a time window keep their age, even with other buckets")
    func memoryOfTime() {
        var rule = FailuresInWindow.failures(2, over: .time(.seconds(10), buckets: 10))
        _ = play("fsfs", into: &rule)
        for buckets in [1, 2, 5, 10, 100] {
            var next = FailuresInWindow.failures(2, over: .time(.seconds(10), buckets: buckets))
            #expect(next.restore(rule.memory(at: .second(4)), at: .second(4)) == true)
            #expect(next.counts(at: .second(4)) == TripCounts(failureCount: 2, failureLimit: 2, callCount: 4))
            #expect(next.counts(at: .second(40)).callCount == 0)
        }
    }

    @Test(
        "an invalid memory is rejected, and changes nothing",
        arguments: [
            [], [1, 0], [2, 2], [2, 0, 1, -1], [2, .min], [3, 0, 1], [3, -1, 0, 1], [3, 5, 2, 1], [3, 5, -1, 1],
            [3, 1, 0, 1, 2, 0, 1], [3, 0, 0, .max], [4, 2, 0],
        ])
    func badMemory(memory: [Int]) {
        for window in [CallWindow.calls(4), .time(.seconds(10))] {
            var rule = FailuresInWindow.failures(2, over: window)
            _ = play("f", into: &rule)
            let before = rule
            #expect(!rule.restore(memory, at: .second(4)) && rule == before)
        }
    }

    @Test("by default a failure ratio covers a hundred calls, and needs at least ten")
    func defaults() {
        #expect(
            "\(FailuresInWindow.failureRatio(1))"
                == "opens on 1.0 of the last 100 calls being transient+uncertain, of at least 10")
    }
}
