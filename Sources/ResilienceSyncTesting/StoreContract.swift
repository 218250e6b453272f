public import ResilienceSync
public import ResilienceTesting

/// Puts a store through what a queue can ask of it, and says what it does wrong.
///
/// ```swift
/// @Test func contract() async {
///     let report = await StoreContract { try MyStore() }.check()
///     #expect(report.violations == [])
/// }
/// ```
///
/// It makes the store anew for each trial, and it must be empty then. The trials: order and pages; duplicates, and that
/// appending is all or nothing; lanes, their heads and what blocks them; claims; the sending lock; coalescing; limits; reviving, discarding, limits of what is dead, and
/// clearing; totals, settings, texts of any characters; many tasks at the same time; and a random walk beside a slow and
/// obvious model, in which everything that can be read is compared after each step.
public struct StoreContract<Store: MutationStore>: Sendable {
    private let make: @Sendable () async throws -> Store
    private let reopening: (@Sendable (Store) async throws -> Store)?

    /// - Parameters:
    ///   - make: makes an empty store.
    ///   - reopening: for a store that lasts: makes another of the same file or place, as after a restart.
    public init(
        _ make: @escaping @Sendable () async throws -> Store,
        reopening: (@Sendable (Store) async throws -> Store)? = nil
    ) {
        self.make = make
        self.reopening = reopening
    }

    /// Carries out all trials.
    /// - Parameters:
    ///   - steps: of the random walk.
    ///   - tasks: at the same time.
    ///   - seed: for what is random.
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

/// What ``StoreContract/check(steps:tasks:seed:)`` found.
public struct StoreContractReport: Sendable, CustomStringConvertible {
    public fileprivate(set) var violations: [ContractViolation] = []
    /// Trials carried out.
    public fileprivate(set) var trials = 0

    public var description: String { violations.map { "\($0)\n" }.joined() + "\(trials) trials" }
}
