public import Resilience
import Synchronization

/// The clock of a ``Simulation``, for the policies that run in it.
///
/// It moves only while the simulation runs. Alarms run on the simulation's thread.
public final class SimulatedTimeBase: TimeBase {
    private struct State {
        var alarms = AlarmQueue()
        var woken: [Woken] = []
    }

    /// A wait that has ended, of a call that has not gone on.
    struct Woken: Sendable {
        let call: SimulatedCall
        let wake: PolicyWaiter.Wake
    }

    private let state = Locked(State())
    private let time: Atomic<Int64>
    // Both are read at each event; the lock is taken only if there is something to do.
    private let earliestAlarm = Atomic(Int64.max)
    private let hasWoken = Atomic(false)

    init(at start: MonotonicInstant) { time = Atomic(start.nanoseconds) }

    /// The simulated time.
    public var now: MonotonicInstant { MonotonicInstant(nanoseconds: time.load(ordering: .relaxed)) }

    public func schedule(at deadline: MonotonicInstant, _ action: @escaping @Sendable () -> Void) -> TimeBaseAlarm {
        state.withLock { state in
            let alarm = state.alarms.insert(at: deadline, AlarmAction(action))
            noteEarliest(state)
            return alarm
        }
    }

    public func cancel(_ alarm: TimeBaseAlarm) {
        _ = state.withLock { state -> AlarmAction? in
            let action = state.alarms.remove(alarm)
            noteEarliest(state)
            return action
        }
    }

    private func noteEarliest(_ state: borrowing State) {
        earliestAlarm.store(state.alarms.earliest?.nanoseconds ?? .max, ordering: .relaxed)
    }

    // MARK: For the simulation

    var earliest: MonotonicInstant { MonotonicInstant(nanoseconds: earliestAlarm.load(ordering: .relaxed)) }

    func move(to instant: MonotonicInstant) { time.store(instant.nanoseconds, ordering: .relaxed) }

    func fireEarliest() {
        let now = now
        let due = state.withLock { state -> AlarmAction? in
            let action = state.alarms.popDue(at: now)
            noteEarliest(state)
            return action
        }
        due?.run()
    }

    func woke(_ call: SimulatedCall, _ wake: PolicyWaiter.Wake) {
        state.withLock { $0.woken.append(Woken(call: call, wake: wake)) }
        hasWoken.store(true, ordering: .relaxed)
    }

    var someoneWoke: Bool { hasWoken.load(ordering: .relaxed) }

    /// Takes the calls that may go on, in the order in which their waits ended.
    /// - Parameter woken: Empty, for its memory.
    func takeWoken(into woken: inout [Woken]) {
        hasWoken.store(false, ordering: .relaxed)
        state.withLock { swap(&$0.woken, &woken) }
    }
}
