/// A monotonic clock with alarms: policies read the time from it, and set alarms on it.
///
/// There is one real time base, ``SystemTimeBase/shared`` (`.system`). Tests make others. A policy that keeps state
/// uses the time base that it was made with. A ``Pipeline`` does not accept policies of different time bases, so that
/// readings of two clocks are never compared.
public protocol TimeBase: AnyObject, Sendable {
    /// The current time.
    ///
    /// It never goes back.
    var now: MonotonicInstant { get }

    /// Runs an action once, at or after a deadline, never before it.
    ///
    /// A deadline in the past fires as soon as possible, perhaps before this returns. Actions that are due at the same
    /// time may run at the same time.
    /// - Parameters:
    ///   - deadline: The earliest instant at which the action may run.
    ///   - action: A short action that does not block.
    /// - Returns: A receipt for ``cancel(_:)``.
    func schedule(at deadline: MonotonicInstant, _ action: @escaping @Sendable () -> Void) -> TimeBaseAlarm

    /// Cancels an alarm.
    ///
    /// Does nothing if the alarm has fired already: policies may cancel such alarms.
    ///
    /// - Parameter alarm: The receipt from ``schedule(at:_:)``.
    func cancel(_ alarm: TimeBaseAlarm)

    /// The executor for tasks that a policy makes; nil, the default, for no preference.
    var taskExecutor: (any TaskExecutor)? { get }
}

extension TimeBase {
    /// No preference.
    public var taskExecutor: (any TaskExecutor)? { nil }

    /// The executor for a task that works for the current task: the time base's, else the current task's preferred
    /// executor, if the system reports it.
    package var executorForTasks: (any TaskExecutor)? {
        if let taskExecutor { return taskExecutor }
        #if compiler(>=6.3)
            if #available(macOS 26.4, macCatalyst 26.4, iOS 26.4, tvOS 26.4, watchOS 26.4, visionOS 26.4, *) {
                return withUnsafeCurrentTask { $0?.unownedTaskExecutor?.asTaskExecutor() }
            }
        #endif
        return nil
    }
}

/// The receipt for a scheduled action, with which it can be cancelled.
public struct TimeBaseAlarm: Sendable, Hashable {
    @usableFromInline package let slot: Int
    @usableFromInline package let generation: UInt64

    /// Creates a receipt, for a time base of your own.
    ///
    /// - Parameter id: The number with which your time base identifies the action. Never use it for another action, not
    ///   even after this action has run: its receipt may still be cancelled.
    public init(id: UInt64) {
        // No queue of this package has this slot.
        slot = -1
        generation = id
    }

    @usableFromInline package init(slot: Int, generation: UInt64) {
        self.slot = slot
        self.generation = generation
    }
}

extension TimeBase where Self == SystemTimeBase {
    /// The machine's monotonic clock, which keeps running while the machine sleeps.
    public static var system: SystemTimeBase { .shared }
}
