import Dispatch
import Resilience

/// Runs the jobs of one task on the thread that waits for the task.
final class CallingThread: TaskExecutor {
    private struct State {
        var jobs: [UnownedJob] = []
        /// The task of a blocking call within an operation that runs here.
        var inner: Task<Void, Never>?
        /// Whether jobs no longer run here.
        var hasEnded = false
    }

    @TaskLocal private static var current: CallingThread?

    private let state = Locked(State())
    /// Signalled for each job, and at the end.
    private let changes = DispatchSemaphore(value: 0)

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        let isHere = state.withLock { state in
            if !state.hasEnded { state.jobs.append(job) }
            return !state.hasEnded
        }
        if isHere { changes.signal() } else { globalConcurrentExecutor.enqueue(job) }
    }

    /// Runs work on the calling thread, blocking it while the work is suspended.
    static func run<R>(_ work: nonisolated(nonsending) () async throws -> R) throws -> R {
        guard mayBlock else { throw BlockingInTask() }
        _ = AlarmBell.rings
        let (outer, thread) = (current, CallingThread())
        let outcome = Outcome<R>()
        withoutActuallyEscaping(work) { work in
            let work = Borrowed(work)
            let task = Task(executorPreference: thread) {
                await $current.withValue(thread) {
                    do {
                        outcome.result = .success(try await work.work())
                    } catch {
                        outcome.result = .failure(error)
                    }
                }
                thread.end()
            }
            outer?.state.withLock { $0.inner = task }
            if Task.isCancelled { task.cancel() }
            thread.runJobs()
            outer?.state.withLock { $0.inner = nil }
        }
        // Never nil: the jobs of the task have all been run.
        return try outcome.result!.get()
    }

    /// Runs an operation that blocks the thread. A blocking call within it is cancelled with it.
    nonisolated(nonsending) static func runOperation<R>(_ operation: () throws -> R) async rethrows -> R {
        let thread = current
        return try await withTaskCancellationHandler {
            try operation()
        } onCancel: {
            thread?.state.withLock { $0.inner }?.cancel()
        }
    }

    /// True outside tasks, and in a task of ours that runs on this thread, which is blocked already.
    private static var mayBlock: Bool {
        withUnsafeCurrentTask { task in
            guard let task else { return true }
            return current.map { task.unownedTaskExecutor == $0.asUnownedTaskExecutor() } ?? false
        }
    }

    private func runJobs() {
        while true {
            changes.wait()
            let job: UnownedJob? = state.withLock { state in
                state.jobs.isEmpty ? nil : state.jobs.removeFirst()
            }
            guard let job else { return }
            job.runSynchronously(on: asUnownedTaskExecutor())
        }
    }

    /// Ends the run: the task has no further work.
    private func end() {
        state.withLock { $0.hasEnded = true }
        changes.signal()
    }
}

/// Rings the alarms of the system's time base from a thread of its own. A timer in a task could starve: the calls that
/// wait for its alarms may block all threads that could run it. On Linux, `DispatchQueue.global()` uses the same
/// threads.
private enum AlarmBell {
    /// Starts with the first use, and never ends.
    static let rings: Void = {
        let timer = Timer()
        SystemTimeBase.shared.ring(
            by: SystemTimeBase.Bell(
                ring: { timer.ring(at: $0) },
                // A queue of its own, as below: a blocked alarm must not block the others.
                elsewhere: {
                    DispatchQueue(label: "swift-resilience.alarms.more", qos: .userInitiated).async(execute: $0)
                }))
    }()

    /// Unchecked: a source may be used from any thread.
    private final class Timer: @unchecked Sendable {
        /// One source on the clock that stops while the machine sleeps, and one on the clock that can be set.
        private let sources: [any DispatchSourceTimer]

        init() {
            // A serial queue gets a thread even if all others are blocked.
            let queue = DispatchQueue(label: "swift-resilience.alarms", qos: .userInitiated)
            sources = (0..<2).map { _ in DispatchSource.makeTimerSource(queue: queue) }
            for source in sources {
                source.setEventHandler { SystemTimeBase.shared.fireDue() }
                source.activate()
            }
        }

        func ring(at deadline: MonotonicInstant) {
            // A longer wait would overflow the source's time; the next event sets the rest.
            let wait = min(max(.zero, SystemTimeBase.shared.now.duration(to: deadline)), .seconds(1_000_000))
            let interval = DispatchTimeInterval.nanoseconds(Int(wait.saturatedNanoseconds))
            sources[0].schedule(deadline: .now() + interval, leeway: .nanoseconds(0))
            sources[1].schedule(wallDeadline: .now() + interval, leeway: .nanoseconds(0))
        }
    }
}

/// Unchecked: a job writes it on the thread that reads it later.
private final class Outcome<R>: @unchecked Sendable {
    var result: Result<R, any Error>?
}

/// Unchecked: the work runs only in jobs on the thread that has borrowed it, which waits for their end.
private struct Borrowed<R>: @unchecked Sendable {
    let work: nonisolated(nonsending) () async throws -> R

    init(_ work: nonisolated(nonsending) @escaping () async throws -> R) { self.work = work }
}
