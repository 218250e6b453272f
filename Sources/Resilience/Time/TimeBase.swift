/// Where policies read the time and have themselves woken: a monotonic clock with alarms.
///
/// There is one real base, ``SystemTimeBase/shared`` (`.system`), and whatever a test passes in. A policy that keeps
/// state lives in one base, the one it was made with, and a ``Pipeline`` refuses policies of different bases, so that
/// readings of two clocks never meet.
public protocol TimeBase: AnyObject, Sendable {
    /// The current reading. Never goes back.
    var now: MonotonicInstant { get }

    /// Runs `action` once at or after `deadline`, never before it. A deadline in the past fires as soon as possible.
    /// `action` is short and does not block. Actions that are due at the same time may run at the same time.
    func schedule(at deadline: MonotonicInstant, _ action: @escaping @Sendable () -> Void) -> TimeBaseAlarm

    /// Takes an alarm back. Nothing happens if it has fired already.
    func cancel(_ alarm: TimeBaseAlarm)

    /// Where tasks that a policy has to make are to run; nil, the default, for anywhere.
    var taskExecutor: (any TaskExecutor)? { get }
}

extension TimeBase {
    public var taskExecutor: (any TaskExecutor)? { nil }

    /// Where a task made for the current one is to run: here if the time base says so, else where the current task prefers
    /// to, as far as the system can tell.
    var executorForTasks: (any TaskExecutor)? {
        if let taskExecutor { return taskExecutor }
        #if compiler(>=6.3)
            if #available(macOS 26.4, macCatalyst 26.4, iOS 26.4, tvOS 26.4, watchOS 26.4, visionOS 26.4, *) {
                return withUnsafeCurrentTask { $0?.unownedTaskExecutor?.asTaskExecutor() }
            }
        #endif
        return nil
    }
}

/// The receipt for a scheduled action.
public struct TimeBaseAlarm: Sendable, Hashable {
    package let slot: Int
    package let generation: UInt64

    package init(slot: Int, generation: UInt64) {
        self.slot = slot
        self.generation = generation
    }
}

extension TimeBase where Self == SystemTimeBase {
    /// The machine's own monotonic clock, which goes on while the machine sleeps.
    public static var system: SystemTimeBase { .shared }
}
