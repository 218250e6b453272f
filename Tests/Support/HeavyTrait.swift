import Dispatch
import Foundation
import Resilience
package import Testing

/// Runs a test on two threads of its own, away from all other tasks.
///
/// A test that computes for seconds occupies its thread. On two cores, a few such tests block all others for minutes,
/// so that real timeouts in the others fire too early.
package struct HeavyTrait: TestTrait, SuiteTrait, TestScoping {
    package var isRecursive: Bool { true }

    package func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @concurrent @Sendable () async throws -> Void
    ) async throws {
        try await withTaskExecutorPreference(HeavyThreads.shared) { try await function() }
    }
}

extension Trait where Self == HeavyTrait {
    /// For tests that compute for a second or more: explorations, simulations, fuzzing.
    package static var heavy: Self { HeavyTrait() }
}

private final class HeavyThreads: TaskExecutor {
    static let shared = HeavyThreads()

    private let jobs = Locked<[UnownedJob]>([])
    private let arrived = DispatchSemaphore(value: 0)

    private init() {
        for _ in 0..<2 {
            let thread = Thread { [self] in
                while true {
                    arrived.wait()
                    let job = jobs.withLock { $0.removeFirst() }
                    job.runSynchronously(on: asUnownedTaskExecutor())
                }
            }
            thread.stackSize = 8 << 20
            thread.start()
        }
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        jobs.withLock { $0.append(job) }
        arrived.signal()
    }
}
