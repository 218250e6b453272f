import Resilience

/// Runs the steps of tasks on the thread that asks for them, one at a time: a step goes from one suspension to the next.
package final class SteppedExecutor: TaskExecutor {
    private struct Job {
        let job: UnownedJob
        /// The actor's executor that the step belongs to, if it has one of its own.
        let home: UnownedSerialExecutor?
    }

    private struct State {
        var jobs: ArraySlice<Job> = []
        var random: SeededGenerator?
        var hasEnded = false
    }

    private let state: Locked<State>

    /// - Parameter seed: decides which of several ready steps is next; nil takes them in order.
    package init(seed: UInt64?) { state = Locked(State(random: seed.map(SeededGenerator.init))) }

    package func enqueue(_ job: consuming ExecutorJob) { enqueue(UnownedJob(job), home: nil) }

    package func enqueue(_ job: UnownedJob, home: UnownedSerialExecutor?) {
        let late = state.withLock { state in
            if state.hasEnded { return true }
            state.jobs.append(Job(job: job, home: home))
            return false
        }
        // Nobody asks for steps any more: what is left over goes on as any task.
        if late { globalConcurrentExecutor.enqueue(job) }
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

    package func end() {
        let rest = state.withLock { state in
            state.hasEnded = true
            defer { state.jobs = [] }
            return state.jobs
        }
        for job in rest { globalConcurrentExecutor.enqueue(job.job) }
    }
}
