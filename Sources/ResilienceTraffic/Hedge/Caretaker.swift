import Resilience

/// What is needed to begin the hedges of a call whose first copy still keeps the caller's thread when the first of them is due.
///
/// A *caretaker* begins them: a task that is no child of the caller's. It has the caller's priority, and of the caller's
/// task-local values those of this package; the others can't be read from outside of the caller's task.
struct Caretaker: Sendable {
    /// When the first hedge begins.
    let due: MonotonicInstant
    /// As a number: the layout of a struct with a `TaskPriority` is found at run time, and so is that of all that contains it.
    private let priority = Task.currentPriority.rawValue
    private let deadline = CallDeadline.current
    private let origin = CallOrigin.current
    private let tag = Chaos.currentTag
    private let path = FlightPath.current

    /// nil if no hedge begins after a delay.
    init?(of machine: HedgeStateMachine, at now: MonotonicInstant) {
        guard case .wait(let due) = machine.step(at: now), due != .distantFuture else { return nil }
        self.due = due
    }

    /// Begins its task.
    func begin(
        on executor: (any TaskExecutor)?, _ body: @escaping @Sendable () async -> Void
    ) -> Task<Void, Never> {
        // Detached: an alarm may fire in any task, whose values would be the wrong ones.
        Task.detached(executorPreference: executor, priority: TaskPriority(rawValue: priority)) {
            await FlightPath.$current.withValue(path) {
                await CallOrigin.within(origin) {
                    await within(tag) {
                        guard let deadline else { return await body() }
                        await deadline.run(body)
                    }
                }
            }
        }
    }

    private func within(_ tag: String?, _ body: () async -> Void) async {
        guard let tag else { return await body() }
        await Chaos.tagged(tag, body)
    }
}
