public import Resilience

/// Checks that a policy keeps its contract under all kinds of calls, and reports violations.
///
/// ```swift
/// @Test func contract() async {
///     let report = await PolicyContract { clock in
///         Bulkhead(limit: 4, queue: 16, timeBase: clock)
///     }
///     .check(permitsOut: { $0.status.inUse + $0.status.queued })
///     #expect(report.violations == [])
/// }
/// ```
///
/// It makes a new policy for each trial, on a clock of its own, and tries: calls that succeed, throw every sort of
/// error, or return failure; cancellation before, during and after the operation and in every wait; deadlines; wakes
/// that come an hour late; calls within calls; rounds of a retry around the policy, and rejections by an inner policy;
/// permits by hand; actors; forecasts, each compared with the next call; the same calls with and without an observer,
/// and with forecasts; thousands of concurrent calls, first one step at a time in random orders and then on all
/// threads.
///
/// After each trial no call may be inside, no alarm may be set, and an hour later a call must be admitted. So make the
/// policy with limits that admit at least four calls at once, and with waits of less than an hour.
public struct PolicyContract<Subject: Sendable>: Sendable {
    let make: @Sendable (ManualClock) -> Subject
    let guarding: @Sendable (Subject, ManualClock) -> Pipeline
    /// Takes a permit by hand; nil if the policy has no permits.
    let acquire: (@Sendable (Subject) throws -> PermitBox)?
    let home: @Sendable (Subject) -> (any TimeBase)?

    /// Creates the contract of a policy.
    ///
    /// - Parameter make: Makes the policy, with the given clock as its time base. Called for each trial.
    public init(_ make: @escaping @Sendable (ManualClock) -> Subject) where Subject: Policy {
        self.make = make
        guarding = { subject, clock in Pipeline("contract", timeBase: clock) { subject } }
        acquire = { PermitBox(try $0.tryAcquire()) }
        home = { $0.timeBase }
    }

    /// Creates the contract of an around policy.
    ///
    /// - Parameter make: Makes the policy, with the given clock as its time base. Called for each trial.
    public init(_ make: @escaping @Sendable (ManualClock) -> Subject) where Subject: AroundPolicy {
        self.make = make
        guarding = { subject, clock in Pipeline("contract", timeBase: clock) { subject } }
        acquire = nil
        home = { _ in nil }
    }

    /// Runs all trials.
    ///
    /// - Parameters:
    ///   - calls: The number of calls in the last trial, which run concurrently on all threads. 10 000 by default.
    ///   - seed: Seeds all random choices. On all threads, runs with the same seed may differ.
    ///   - permitsOut: Returns the number of permits and other resources for calls in flight; it must be 0 when no call
    ///     is in flight. Without it, only the outside behavior is checked.
    /// - Returns: The findings of the trials.
    public func check(
        calls: Int = 10_000, seed: UInt64 = 1, permitsOut: (@Sendable (Subject) -> Int)? = nil
    ) async -> PolicyContractReport {
        let clock = ManualClock()
        if let base = home(make(clock)), base !== clock {
            let violation = ContractViolation(trial: "made on a clock", problem: "it lives on another time base")
            return PolicyContractReport(violations: [violation])
        }
        var report = PolicyContractReport()
        var everyCallEnds = true
        for trial in Self.trials(seed: seed) where acquire != nil || !trial.isByHand {
            let stage = ContractStage(self, permitsOut)
            do {
                try stage.clock.run(seed: trial.seed, maxSteps: 50_000) { await trial.body(stage) }
                stage.finish()
            } catch ManualClock.RunFailure.everybodyWaits {
                stage.complain("\(ManualClock.RunFailure.everybodyWaits)")
                everyCallEnds = false
            } catch {
                // The other trials would fail in the same way.
                stage.complain("\(error)")
                report.add(stage, trial: trial.name)
                return report
            }
            report.add(stage, trial: trial.name)
        }
        for (trial, stage) in compareObserved(seed: seed, permitsOut) { report.add(stage, trial: trial) }
        // When calls run on all threads, a call that never ends can't be given up.
        guard everyCallEnds else { return report }
        let stage = ContractStage(self, permitsOut)
        await stage.storm(calls: calls, seed: seed)
        stage.finish()
        report.add(stage, trial: "\(calls) calls on all threads")
        return report
    }
}

/// The result of ``PolicyContract/check(calls:seed:permitsOut:)``.
public struct PolicyContractReport: Sendable, CustomStringConvertible {
    /// The violations of the contract, each once; empty if the policy keeps it.
    public fileprivate(set) var violations: [ContractViolation] = []
    /// The number of calls made in all trials.
    public fileprivate(set) var calls = 0
    /// The number of operations begun.
    public fileprivate(set) var operations = 0
    /// The number of calls that the policy, or another policy of the trial, rejected.
    public fileprivate(set) var rejected = 0
    /// The number of cancelled calls, however they ended.
    public fileprivate(set) var cancelled = 0

    public var description: String {
        let counts = "\(calls) calls, \(operations) operations, \(rejected) rejected, \(cancelled) cancelled"
        return violations.isEmpty ? counts : violations.map { "\($0)\n" }.joined() + counts
    }

    fileprivate mutating func add(_ stage: ContractStage<some Sendable>, trial: String) {
        let tally = stage.tally
        calls += tally.calls
        operations += tally.operations
        rejected += tally.rejected
        cancelled += tally.cancelled
        for problem in tally.problems where !violations.contains(where: { $0.trial == trial && $0.problem == problem })
        {
            violations.append(ContractViolation(trial: trial, problem: problem))
        }
    }
}

/// A violation of the policy contract.
public struct ContractViolation: Sendable, Hashable, CustomStringConvertible {
    /// The name of the trial.
    public let trial: String
    /// The violation.
    public let problem: String

    package init(trial: String, problem: String) {
        self.trial = trial
        self.problem = problem
    }

    public var description: String { "\(trial): \(problem)" }
}

/// A permit that can be kept in a list. When the box is released, the permit is dropped without a report.
final class PermitBox: Sendable {
    private let permit: Locked<PolicyPermit?>

    init(_ permit: consuming PolicyPermit) { self.permit = Locked(permit) }

    func complete(_ verdict: Verdict) {
        let permit = permit.withLock { $0.take() }
        permit?.complete(verdict)
    }
}
