import Resilience

/// Runs the steps of tasks on the thread that asks for them, one at a time. A step goes from one suspension to the
/// next.
package final class SteppedExecutor: TaskExecutor {
    private struct Job {
        let job: UnownedJob
        /// The executor of the actor that the step belongs to, if the actor has its own.
        let home: UnownedSerialExecutor?
        /// Whether the step's task has another executor, and is here only because it was enqueued on a run's thread.
        var isGuest = false
    }

    private struct State {
        var jobs: ArraySlice<Job> = []
        var random: SeededGenerator?
        var phase = Phase.running
    }

    private enum Phase {
        case running
        /// The run is over: the remaining steps continue as in any other task.
        case ended
        /// The remaining steps would never end, so they stay. Guests continue like any other task, because they may
        /// belong to another test.
        case abandoned
    }

    private let state: Locked<State>

    /// - Parameter seed: Chooses the next of several ready steps; nil takes them in order.
    package init(seed: UInt64?) { state = Locked(State(random: seed.map(SeededGenerator.init))) }

    package func enqueue(_ job: consuming ExecutorJob) { enqueue(UnownedJob(job), home: nil) }

    package func enqueue(_ job: UnownedJob, home: UnownedSerialExecutor?) {
        let phase = state.withLock { state in
            if state.phase == .running { state.jobs.append(Job(job: job, home: home)) }
            return state.phase
        }
        if phase == .ended { pass(job) }
    }

    /// Passes a step to this thread's run, if there is one, and else to all threads. The global executor would not
    /// always ask the hook (Swift 6.3).
    private func pass(_ job: UnownedJob) {
        if !GlobalExecutorHook.takeIn(job) { globalConcurrentExecutor.enqueue(job) }
    }

    /// Takes a step that was meant for the global executor; false if the run is over.
    func takeIn(_ job: UnownedJob) -> Bool {
        state.withLock { state in
            guard state.phase == .running else { return false }
            state.jobs.append(Job(job: job, home: nil, isGuest: true))
            return true
        }
    }

    /// Runs one step; false if none is ready.
    package func step() -> Bool {
        let next = state.withLock { state -> Job? in
            if var random = state.random, !state.jobs.isEmpty {
                state.jobs.swapAt(state.jobs.startIndex, state.jobs.indices.randomElement(using: &random)!)
                state.random = random
            }
            return state.jobs.popFirst()
        }
        guard let next else { return false }
        if let home = next.home {
            next.job.runSynchronously(isolatedTo: home, taskExecutor: asUnownedTaskExecutor())
        } else {
            next.job.runSynchronously(on: asUnownedTaskExecutor())
        }
        return true
    }

    package func end() { leave(for: .ended) }

    package func abandon() { leave(for: .abandoned) }

    private func leave(for phase: Phase) {
        let rest = state.withLock { state -> ArraySlice<Job> in
            guard state.phase == .running else { return [] }
            state.phase = phase
            defer { state.jobs = [] }
            return phase == .ended ? state.jobs : state.jobs.filter(\.isGuest)[...]
        }
        for job in rest { pass(job.job) }
    }
}
