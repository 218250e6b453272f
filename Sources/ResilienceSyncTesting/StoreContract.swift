public import ResilienceSync
public import ResilienceTesting

/// Checks that a store keeps the contract of `MutationStore`, and reports violations.
///
/// ```swift
/// @Test func contract() async {
///     let report = await StoreContract { try MyStore() }.check()
///     #expect(report.violations == [])
/// }
/// ```
///
/// It makes a new, empty store for each trial. The trials: order and pages; duplicates, earlier failures of a mutation,
/// and atomic appends; lanes, their heads and blocks; claims; the sending lock; coalescing; dates and urgency; limits;
/// reviving, discarding and limits of dead mutations; reading one mutation, cancelling and clearing; totals, settings,
/// texts of any characters; many concurrent tasks; and a random walk beside a slow and obvious model, which compares
/// everything readable after each step.
public struct StoreContract<Store: MutationStore>: Sendable {
    private let make: @Sendable () async throws -> Store
    private let reopening: (@Sendable (Store) async throws -> Store)?

    /// Creates the contract of a store.
    ///
    /// - Parameters:
    ///   - make: Makes an empty store. Called for each trial.
    ///   - reopening: For a durable store: opens the same file or place again, as after a restart. Without it, no trial
    ///     restarts the store.
    public init(
        _ make: @escaping @Sendable () async throws -> Store,
        reopening: (@Sendable (Store) async throws -> Store)? = nil
    ) {
        self.make = make
        self.reopening = reopening
    }

    /// Runs all trials.
    ///
    /// - Parameters:
    ///   - steps: The number of steps of the random walk; 1 000 by default.
    ///   - tasks: The number of tasks that use the store concurrently; 32 by default.
    ///   - seed: Seeds all random choices.
    /// - Returns: The findings of the trials.
    public func check(steps: Int = 1_000, tasks: Int = 32, seed: UInt64 = 1) async -> StoreContractReport {
        var report = StoreContractReport()
        for trial in StoreTrial<Store>.all(steps: steps, tasks: tasks, seed: seed) {
            report.trials += 1
            do {
                let stage = StoreStage(try await make(), reopening: reopening)
                do { try await trial.body(stage) } catch { stage.complain("it throws: \(error)") }
                for problem in stage.problems {
                    report.violations.append(ContractViolation(trial: trial.name, problem: problem))
                }
            } catch {
                report.violations.append(
                    ContractViolation(trial: trial.name, problem: "the store can't be made: \(error)"))
            }
        }
        return report
    }
}

/// The result of ``StoreContract/check(steps:tasks:seed:)``.
public struct StoreContractReport: Sendable, CustomStringConvertible {
    /// The violations of the contract; empty if the store keeps it.
    public fileprivate(set) var violations: [ContractViolation] = []
    /// The number of trials run.
    public fileprivate(set) var trials = 0

    public var description: String { violations.map { "\($0)\n" }.joined() + "\(trials) trials" }
}
