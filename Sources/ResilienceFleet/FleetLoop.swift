import Resilience

/// Takes one step after another, in a task that ends when there is nothing to do and begins again when it is rung.
final class FleetLoop: Sendable {
    enum Next: Sendable, Equatable {
        case now
        /// Then, or when it is rung.
        case at(MonotonicInstant)
        case whenRung
        /// What it works for is gone.
        case never
    }

    private struct State {
        var isRunning = false
        /// Whether it was rung since the last step began.
        var isRung = false
        var waiter: PolicyWaiter?
    }

    private let timeBase: any TimeBase
    private let step: @Sendable () async -> Next
    private let state = Locked(State())

    init(on timeBase: any TimeBase, step: @escaping @Sendable () async -> Next) {
        self.timeBase = timeBase
        self.step = step
    }

    /// Makes the next step come at once.
    func ring() {
        let (starts, waiter) = state.withLock { state in
            defer { (state.isRunning, state.isRung) = (true, true) }
            return (!state.isRunning, state.waiter.take())
        }
        waiter?.resume()
        // In the background, whoever has called.
        if starts { Task.detached(executorPreference: timeBase.taskExecutor, priority: .high) { await self.run() } }
    }

    private func run() async {
        while true {
            state.withLock { $0.isRung = false }
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

/// For a closure that is made before its owner.
final class WeakReference<Value: AnyObject & Sendable>: Sendable {
    private struct Box { weak var value: Value? }
    private let box = Locked(Box())

    var value: Value? {
        get { box.withLock { $0.value } }
        set { box.withLock { $0.value = newValue } }
    }
}
