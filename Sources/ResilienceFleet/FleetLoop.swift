import Resilience
import Synchronization

/// A loop's subject: the link between a policy and its fleet.
protocol FleetLink: AnyObject, Sendable {
    func step() async -> FleetLoop.Next
}

/// Takes steps in order, in a task that ends when there is nothing to do, and restarts when the loop is rung.
final class FleetLoop: Sendable {
    enum Next: Sendable, Equatable {
        case now
        /// The next step is at this instant, or when the loop is rung.
        case at(MonotonicInstant)
        case whenRung
        /// There is no next step: the subject is gone.
        case never
    }

    private struct State {
        var isRunning = false
        /// Whether the loop was rung since the last step began.
        var isRung = false
        var waiter: PolicyWaiter?
        /// The subject holds the loop.
        weak var link: (any FleetLink)?
    }

    private let timeBase: any TimeBase
    private let state = Locked(State())
    private let deafUntil = Atomic(Int64.min)

    init(on timeBase: any TimeBase) { self.timeBase = timeBase }

    func works(for link: any FleetLink) { state.withLock { $0.link = link } }

    /// Before this, only urgent rings are heard.
    func isDeaf(until instant: MonotonicInstant) { deafUntil.store(instant.nanoseconds, ordering: .relaxed) }

    /// Begins the next step at once, unless the loop is deaf.
    func ring(isUrgent: Bool) {
        let deafUntil = deafUntil.load(ordering: .relaxed)
        if isUrgent || deafUntil == .min || deafUntil <= timeBase.now.nanoseconds { ring() }
    }

    /// Begins the next step at once.
    func ring() {
        let (starts, waiter) = state.withLock { state in
            defer { (state.isRunning, state.isRung) = (true, true) }
            return (!state.isRunning, state.waiter.take())
        }
        waiter?.resume()
        // In the background, for any caller.
        if starts { Task.detached(executorPreference: timeBase.taskExecutor, priority: .high) { await self.run() } }
    }

    /// Holds the link only during the step.
    private func step() async -> Next {
        let link = state.withLock { state in
            state.isRung = false
            return state.link
        }
        return await link?.step() ?? .never
    }

    private func run() async {
        while true {
            switch await step() {
            case .now:
                break
            case .at(let instant):
                let waiter = PolicyWaiter()
                let isRung = state.withLock { state in
                    if !state.isRung { state.waiter = waiter }
                    return state.isRung
                }
                guard !isRung else { break }
                _ = await waiter.wait(until: instant, on: timeBase)
                state.withLock { $0.waiter = nil }
            case .whenRung:
                let ends = state.withLock { state in
                    if !state.isRung { state.isRunning = false }
                    return !state.isRung
                }
                if ends { return }
            case .never:
                return
            }
        }
    }
}
