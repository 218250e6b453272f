import Resilience
import ResilienceSimulation
import TestSupport
import Testing

@Suite struct SimulationTests {
    @Test("events happen in the order of their instants, and in the order of scheduling at one instant")
    func order() {
        let simulation = Simulation()
        let start = simulation.now
        var seen: [String] = []
        simulation.after(.seconds(2)) { seen.append("later") }
        simulation.after(.seconds(1)) { seen.append("first") }
        simulation.after(.seconds(1)) {
            seen.append("second")
            simulation.after(.seconds(-5)) { seen.append("now") }
        }
        simulation.run(until: .distantFuture)
        #expect(seen == ["first", "second", "now", "later"])
        #expect(simulation.now == start + .seconds(2))
    }

    @Test("a run ends at its instant, with what is due there, and goes on from there")
    func ends() {
        let simulation = Simulation()
        let start = simulation.now
        var seen: [Duration] = []
        simulation.every(.seconds(1)) { seen.append(start.duration(to: simulation.now)) }
        simulation.run(for: .seconds(2))
        #expect(seen == [.seconds(1), .seconds(2)])
        simulation.run(for: .milliseconds(500))
        #expect(simulation.now == start + .milliseconds(2500))
        #expect(seen.count == 2)
        simulation.run(for: .milliseconds(500))
        #expect(seen.count == 3)
        simulation.run(until: start)
        #expect(simulation.now == start + .seconds(3))
    }

    @Test("a cancelled event does not happen; to cancel it again, or after it has happened, does nothing")
    func cancelled() {
        let simulation = Simulation()
        var seen = 0
        let first = simulation.after(.seconds(1)) { seen += 1 }
        let second = simulation.after(.seconds(1)) { seen += 10 }
        simulation.cancel(first)
        simulation.cancel(first)
        simulation.run(for: .seconds(1))
        let third = simulation.after(.seconds(1)) { seen += 100 }
        simulation.cancel(second)
        simulation.run(for: .seconds(1))
        simulation.cancel(third)
        #expect(seen == 110)
    }

    @Test("alarms of policies come before events of the same instant")
    func alarms() {
        let simulation = Simulation()
        let journal = Journal()
        simulation.after(.seconds(1)) { journal.note("event") }
        let due = simulation.now + .seconds(1)
        _ = simulation.timeBase.schedule(at: due) { journal.note("alarm") }
        let cancelled = simulation.timeBase.schedule(at: due) { journal.note("cancelled") }
        simulation.timeBase.cancel(cancelled)
        simulation.run(for: .seconds(1))
        #expect(journal.lines == ["alarm", "event"])
    }

    @Test("an attempt that nobody ends is cancelled at its deadline, and a late end does nothing")
    func limits() throws {
        let simulation = Simulation()
        let calls = try SimulatedPipeline(in: simulation) { timeBase in
            Pipeline(timeBase: timeBase) { Timeout(limit: .seconds(1)) }
        }
        var (ends, cancelled, late): ([SimulatedEnd], Int, SimulatedAttempt?) = ([], 0, nil)
        calls.call { attempt in
            attempt.onCancel { cancelled += 1 }
            late = attempt
            #expect(attempt.isRunning)
        } completion: {
            ends.append($0)
        }
        simulation.run(for: .seconds(5))
        late?.end(.success)
        late?.fail(Outage())
        #expect(late?.isRunning == false)
        #expect(cancelled == 1)
        #expect(ends.count == 1 && ends[0].error is TimedOut && ends[0].latency == .seconds(1) && ends[0].attempts == 1)
    }

    @Test("an attempt may end at once, and a call in a call's end begins")
    func synchronous() throws {
        let simulation = Simulation()
        let calls = try SimulatedPipeline(in: simulation) { timeBase in
            Pipeline(timeBase: timeBase) { Retry(maxRetries: 2, backoff: .constant(.zero)) }
        }
        var verdicts: [Verdict] = []
        calls.call {
            $0.end(.transient)
        } completion: { end in
            verdicts.append(end.verdict)
            #expect(end.attempts == 3)
            calls.call {
                $0.end(.success)
            } completion: {
                verdicts.append($0.verdict)
            }
        }
        simulation.run(for: .zero)
        #expect(verdicts == [.transient, .success])
    }

    @Test("ten thousand calls may each begin when the one before ends at once")
    func nested() throws {
        let simulation = Simulation()
        let calls = try SimulatedPipeline(in: simulation) { Pipeline(timeBase: $0) { Retry() } }
        var left = 10_000
        func next() {
            left -= 1
            if left > 0 {
                calls.call {
                    $0.end(.success)
                } completion: { _ in
                    next()
                }
            }
        }
        next()
        simulation.run(for: .zero)
        #expect(left == 0)
    }

    @Test("an attempt that is ended when it is cancelled ends its own call, and not the next one")
    func endedWhenCancelled() throws {
        let simulation = Simulation()
        let calls = try SimulatedPipeline(in: simulation) { Pipeline(timeBase: $0) { Timeout(limit: .seconds(1)) } }
        var ends: [SimulatedEnd] = []
        calls.call { attempt in
            attempt.onCancel { attempt.fail(Outage()) }
        } completion: { end in
            ends.append(end)
            calls.call { _ in
            } completion: {
                ends.append($0)
            }
        }
        simulation.run(for: .seconds(1))
        #expect(ends.count == 1)
        simulation.run(for: .seconds(1))
        #expect(ends.count == 2 && ends[1].latency == .seconds(1))
    }

    @Test("a call before the run has the seed's chance, too")
    func chanceBefore() throws {
        func run() throws -> Duration? {
            let simulation = Simulation(seed: 9)
            let breaker = Box<CircuitBreaker?>(nil)
            let calls = try SimulatedPipeline(in: simulation) { timeBase in
                let made = CircuitBreaker(
                    tripping: .consecutiveFailures(1), openFor: .constant(.seconds(100)).jittered(by: 0.5),
                    timeBase: timeBase)
                breaker.value = made
                return Pipeline(timeBase: timeBase) { made }
            }
            calls.call { $0.end(.transient) }
            return breaker.value?.status.timeRemaining
        }
        let first = try run()
        #expect(first != nil && first != .seconds(100))
        #expect(try run() == first)
    }

    @Test("an attempt that has ended can't end again")
    func twice() throws {
        let simulation = Simulation()
        let breaker = Box<CircuitBreaker?>(nil)
        let calls = try SimulatedPipeline(in: simulation) { timeBase in
            let made = CircuitBreaker(tripping: .consecutiveFailures(2), timeBase: timeBase)
            breaker.value = made
            return Pipeline(timeBase: timeBase) { made }
        }
        var ends = 0
        calls.call { attempt in
            attempt.end(.transient)
            attempt.end(.transient)
            attempt.fail(Outage())
        } completion: { _ in
            ends += 1
        }
        #expect(ends == 1)
        #expect(breaker.value?.status.failureCount == 1)
    }

    @Test("a pipeline on another clock, or with a policy that needs a task, can't be simulated")
    func notSimulated() {
        let simulation = Simulation()
        #expect {
            try SimulatedPipeline(in: simulation) { _ in Pipeline("own") { Retry() } }
        } throws: { "\($0)".hasPrefix("own: the pipeline is not on the simulation's clock") }
        #expect {
            try SimulatedPipeline(in: simulation) { timeBase in
                Pipeline("late", timeBase: timeBase) {
                    Retry()
                    Ending()
                }
            }
        } throws: { "\($0)" == "late: \"ending\" needs a task, which a simulation does not have" }
    }

    @Test("chance inside of a run comes from the simulation's seed: jitter, and breaks of circuits")
    func chance() throws {
        func run(_ seed: UInt64) throws -> [Duration] {
            let simulation = Simulation(seed: seed)
            let calls = try SimulatedPipeline(in: simulation) { timeBase in
                Pipeline(timeBase: timeBase) { Retry(maxRetries: 3) }
            }
            var latencies: [Duration] = []
            for _ in 0..<3 {
                calls.call {
                    $0.end(.transient)
                } completion: {
                    latencies.append($0.latency)
                }
            }
            simulation.run(until: .distantFuture)
            return latencies
        }
        let first = try run(1)
        #expect(Set(first).count == 3)
        #expect(try run(1) == first)
        #expect(try run(2) != first)
    }

    private struct Ending: AroundPolicy {
        let name = "ending"

        func around(
            _ call: inout PolicyCall, isolation: isolated (any Actor)?,
            _ inside: nonisolated(nonsending) (_ deadline: MonotonicInstant) async throws -> Verdict
        ) async throws -> Verdict { try await inside(call.deadline) }
    }

    private final class Fault: Error, Sendable {}

    @Test("a call that has succeeded does not hold the error of an earlier attempt", arguments: [false, true])
    func earlierError(hasTimeouts: Bool) throws {
        let simulation = Simulation()
        let calls = try SimulatedPipeline(in: simulation) { timeBase in
            Pipeline(timeBase: timeBase, isIdempotent: true) {
                if hasTimeouts { Timeout(limit: .seconds(60)) }
                Retry(maxRetries: 2)
                if hasTimeouts { Timeout(limit: .seconds(1)) }
            }
        }
        weak var fault: Fault?
        var verdicts: [Verdict] = []
        calls.call { attempt in
            if attempt.attempt.number == 2 { return attempt.end(.success) }
            let first = Fault()
            fault = first
            attempt.fail(first)
        } completion: {
            verdicts.append($0.verdict)
        }
        simulation.run(until: .distantFuture)
        #expect(verdicts == [.success] && fault == nil)
    }

    @Test("a simulation that is cleared frees itself, its policies and calls, whatever they wait for")
    func cleared() throws {
        weak var gone: Simulation?
        weak var policy: Bulkhead?
        var ends = 0
        do {
            let simulation = Simulation()
            let calls = try SimulatedPipeline(in: simulation) { timeBase in
                let bulkhead = Bulkhead(limit: 2, queue: 10, timeBase: timeBase)
                policy = bulkhead
                return Pipeline(timeBase: timeBase, isIdempotent: true) {
                    bulkhead
                    Retry(maxRetries: 2, backoff: .constant(.seconds(50)))
                }
            }
            gone = simulation
            simulation.every(.milliseconds(10)) { _ = simulation.now }
            let end = simulation.now + .seconds(30)
            calls.call(operation: { _ in }, completion: { _ in ends += 1 })
            calls.call(operation: { $0.end(.transient) }, completion: { _ in ends += 1 })
            for options in [RunOptions(), RunOptions(deadline: end)] {
                calls.call(options: options, operation: { _ in }, completion: { _ in ends += 1 })
            }
            simulation.run(for: .seconds(1))
            #expect(policy?.status.inUse == 2 && policy?.status.queued == 2)
            simulation.clear()
            simulation.run(until: .distantFuture)
        }
        #expect(gone == nil && policy == nil && ends == 0)
    }
}
