import Foundation
import Resilience
import ResilienceTesting
import Synchronization

/// All policies at once, on all threads and in real time, with calls that fail, hang and are cancelled at random:
///
///     swift run -c release stress 120        # seconds; 60 by default
///
/// Prints the calls into and out of every policy, and fails if anything is left inside.
@main struct Stress {
    static func main() async {
        let arguments = CommandLine.arguments.dropFirst()
        guard let seconds = Int(arguments.first ?? "60"), (1...86_400).contains(seconds), arguments.count <= 1 else {
            fail("usage: stress [seconds, from 1 to 86400]")
        }
        let world = World()
        let end = ContinuousClock.now + .seconds(seconds)
        await withTaskGroup(of: Void.self) { group in
            for worker in 0..<300 {
                group.addTask {
                    var random = SeededGenerator(seed: UInt64(worker))
                    while ContinuousClock.now < end { await world.act(&random) }
                }
            }
        }
        let problems = await world.balance()
        print(world.report)
        guard problems.isEmpty else { fail("out of balance:\n" + problems.joined(separator: "\n")) }
        print("in balance: nothing is left inside")
    }

    private static func fail(_ message: String) -> Never {
        FileHandle.standardError.write(Data("\(message)\n".utf8))
        exit(1)
    }
}

/// Counts calls that enter and leave at its place in a pipeline.
final class Gauge: Policy {
    let name: String
    private let entered = Atomic(0)
    private let left = Atomic(0)

    init(_ name: String) { self.name = name }

    var counts: (entered: Int, left: Int) { (entered.load(ordering: .relaxed), left.load(ordering: .relaxed)) }

    func enter(_ call: inout PolicyCall, _ slot: inout PolicySlot) -> PolicyEntry {
        entered.add(1, ordering: .relaxed)
        return .proceed
    }

    func exit(_ call: inout PolicyCall, _ slot: inout PolicySlot, _ outcome: PolicyOutcome) -> PolicyExit {
        left.add(1, ordering: .relaxed)
        return .pass
    }
}

struct Failure: Error, VerdictConvertible {
    let verdict: Verdict
}

final class World: Sendable {
    private struct Tally {
        var ends: [String: Int] = [:]
        var permitsTaken = 0
        var permitsReturned = 0
    }

    private let breakers = CircuitBreakerRegistry<Int>(capacity: 16) { key in
        let rule: CombinedRule =
            switch key % 3 {
            case 0: .anyOf(.consecutiveFailures(5))
            case 1: .anyOf(.failureRatio(0.5, over: .calls(50)), .failures(20, over: .time(.milliseconds(100))))
            default: .anyOf(.consecutiveFailures(5), .slowCalls(0.5, longerThan: .milliseconds(10), over: .calls(20)))
            }
        return CircuitBreaker(
            "\(key)",
            circuit: ThreeStateCircuit(
                tripping: rule, openFor: .constant(.milliseconds(20)).jittered(), probes: 2, closing: .successes(2),
                probeLease: .milliseconds(100), excess: key % 2 == 0 ? .rejected : .waits(upTo: .milliseconds(10)),
                ramp: key % 5 == 0 ? .milliseconds(20) : .zero))
    }
    private let budget = RetryBudget.tokens()
    private let throttle = Throttle(
        limit: .perSecond(20_000, burst: 200), maxWait: .milliseconds(5), holdOnThrottled: true,
        holdBackoff: .constant(.milliseconds(1)), ramp: .milliseconds(5))
    private let bulkhead = Bulkhead(limit: 64, queue: 256, order: .byPriority, maxWait: .milliseconds(50))
    private let gauges = ["pipeline", "retry", "breaker", "throttle", "bulkhead", "timeout"].map(Gauge.init)
    private let tally = Locked(Tally())
    private let operations = Atomic(0)
    private let running = Atomic(0)
    private let elsewhere = Elsewhere()

    private func pipeline(_ key: Int) -> Pipeline {
        Pipeline {
            gauges[0]
            Timeout(limit: .milliseconds(200))
            Retry(
                maxRetries: 3, backoff: .exponential(from: .microseconds(100), cap: .milliseconds(2)), budget: budget,
                wrapsLastError: true)
            gauges[1]
            breakers[key]
            gauges[2]
            throttle
            gauges[3]
            bulkhead
            gauges[4]
            Timeout(limit: .milliseconds(20))
            gauges[5]
        }
    }

    // MARK: A worker's calls

    func act(_ random: inout SeededGenerator) async {
        switch Int.random(in: 0..<20, using: &random) {
        case 0: await takePermit(&random)
        case 1: breakers[Int.random(in: 0..<64, using: &random)].reset()
        case 2: await cancelledCall(&random)
        case 3: bulkhead.setLimit(Int.random(in: 32...96, using: &random))
        case 4: throttle.setRate(.perSecond(Int.random(in: 5_000...50_000, using: &random)))
        case 5: setMode(&random)
        default: await call(Int.random(in: 0..<64, using: &random), random.next())
        }
    }

    /// Sets a mode by hand, and nearly always sets the automatic mode again.
    private func setMode(_ random: inout SeededGenerator) {
        let modes: [CircuitBreaker.Mode] = [
            .isolated, .disabled, .observing, .automatic, .automatic, .automatic, .automatic,
        ]
        breakers[Int.random(in: 0..<64, using: &random)].setMode(modes[Int.random(in: 0..<7, using: &random)])
    }

    private func call(_ key: Int, _ seed: UInt64) async {
        var random = SeededGenerator(seed: seed)
        do {
            let priorities: [CallPriority] = [.low, .normal, .high]
            let options = RunOptions(
                cost: Int.random(in: 0...3, using: &random), priority: priorities[Int.random(in: 0..<3, using: &random)]
            )
            try await pipeline(key).run(options: options) { try await operate(key, &random) }
            note("returned")
        } catch let error as any Rejection {
            note("rejected: \(type(of: error))")
        } catch {
            note(Task.isCancelled ? "cancelled" : "failed: \(type(of: error))")
        }
    }

    private func operate(_ key: Int, _ random: inout SeededGenerator) async throws {
        operations.add(1, ordering: .relaxed)
        running.add(1, ordering: .relaxed)
        defer { running.subtract(1, ordering: .relaxed) }
        // An endpoint in eight is down most of the time.
        if key.isMultiple(of: 8), Int.random(in: 0..<4, using: &random) > 0 { throw Failure(verdict: .transient) }
        switch Int.random(in: 0..<32, using: &random) {
        case 0: throw Failure(verdict: .transient)
        case 1: throw Failure(verdict: .throttled(retryAfter: .microseconds(200)))
        case 2: throw Failure(verdict: .permanent)
        case 3: withUnsafeCurrentTask { $0?.cancel() }
        case 4: try await wait(.milliseconds(50))
        case 5...8: try await wait(.microseconds(Int.random(in: 1...2_000, using: &random)))
        default: break
        }
    }

    private func wait(_ duration: Duration) async throws {
        _ = await PolicyWaiter().wait(until: SystemTimeBase.shared.now + duration, on: .system)
        try Task.checkCancellation()
    }

    /// A call that is cancelled from outside at a random moment.
    private func cancelledCall(_ random: inout SeededGenerator) async {
        let (key, seed) = (Int.random(in: 0..<64, using: &random), random.next())
        let delay = Duration.microseconds(Int.random(in: 0...3_000, using: &random))
        let task = Task { await call(key, seed) }
        if delay > .milliseconds(1) {
            _ = await PolicyWaiter().wait(until: SystemTimeBase.shared.now + delay, on: .system)
        }
        task.cancel()
        await task.value
    }

    /// The same policies by hand; one permit in four is dropped unreported.
    private func takePermit(_ random: inout SeededGenerator) async {
        let reports = Int.random(in: 0..<4, using: &random) > 0
        do {
            let permit = try await bulkhead.acquire()
            tally.withLock { $0.permitsTaken += 1 }
            await elsewhere.visit()
            tally.withLock { $0.permitsReturned += 1 }
            if reports { permit.complete(.success) }
        } catch {
            note("no permit")
        }
    }

    private func note(_ end: String) { tally.withLock { $0.ends[end, default: 0] += 1 } }

    // MARK: Final balance

    /// The problems after every task has ended.
    func balance() async -> [String] {
        var problems: [String] = []
        func require(_ condition: Bool, _ problem: String) { if !condition { problems.append(problem) } }
        for gauge in gauges {
            require(gauge.counts.entered == gauge.counts.left, "\(gauge.name): \(gauge.counts)")
        }
        let tally = tally.withLock { $0 }
        require(tally.permitsTaken == tally.permitsReturned, "permits by hand are missing")
        require(bulkhead.inUse == 0, "\(bulkhead.inUse) calls are in the bulkhead")
        require(bulkhead.queued == 0, "\(bulkhead.queued) calls are in the bulkhead's queue")
        require(throttle.queued == 0, "\(throttle.queued) calls wait in the throttle")
        require(running.load(ordering: .relaxed) == 0, "operations are running")
        // Every permit is available again, and every breaker closes again.
        bulkhead.setLimit(64)
        for key in 0..<64 { breakers[key].setMode(.automatic) }
        do {
            let permits = try takeAll()
            require(permits.count == 64, "the bulkhead has \(permits.count) permits, not 64")
        } catch {
            problems.append("the bulkhead gives out fewer permits than it has: \(error)")
        }
        _ = await PolicyWaiter().wait(until: SystemTimeBase.shared.now + .milliseconds(100), on: .system)
        for key in 0..<64 {
            // Two probes have to succeed, and a ramp may follow.
            for _ in 0..<20 where breakers[key].state != .closed {
                try? await breakers[key].run {}
                _ = await PolicyWaiter().wait(until: SystemTimeBase.shared.now + .milliseconds(5), on: .system)
            }
            require(breakers[key].state == .closed, "breaker \(key) is \(breakers[key].state) after successes")
            do { try await breakers[key].run {} } catch {
                problems.append("breaker \(key) lets no call through: \(error)")
            }
        }
        return problems
    }

    private final class Held: Sendable {
        let permit: PolicyPermit

        init(_ permit: consuming PolicyPermit) { self.permit = permit }
    }

    private func takeAll() throws -> [Held] { try (0..<64).map { _ in Held(try bulkhead.tryAcquire()) } }

    var report: String {
        let tally = tally.withLock { $0 }
        var lines = ["\(tally.ends.values.reduce(0, +)) ends, \(operations.load(ordering: .relaxed)) operations"]
        lines += tally.ends.sorted { $0.value > $1.value }.map { "  \($0.value) \($0.key)" }
        lines.append("in, out:")
        lines += gauges.map { "  \($0.counts.entered), \($0.counts.left) inside of the \($0.name)" }
        lines.append("  \(tally.permitsTaken), \(tally.permitsReturned) permits by hand")
        return lines.joined(separator: "\n")
    }
}
