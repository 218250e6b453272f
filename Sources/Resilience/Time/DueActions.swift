import Synchronization

/// Alarms that are due at the same time. They begin in order, and an action that blocks does not delay the others for
/// long.
///
/// An action must not block. But an action that cancels a task runs that task's cancellation handlers, which are user
/// code. So before a thread runs an action, it hands the remaining actions to another thread.
final class DueActions: Sendable {
    typealias Elsewhere = @Sendable (@escaping @Sendable () -> Void) -> Void

    private let actions: [AlarmAction]
    private let begun = Atomic(0)
    private let elsewhere: Elsewhere

    /// - Parameter elsewhere: Runs a closure on another thread, as soon as one is free.
    init(_ actions: [AlarmAction], elsewhere: @escaping Elsewhere) {
        self.actions = actions
        self.elsewhere = elsewhere
    }

    func run() {
        var isAlone = true
        while case let index = begun.add(1, ordering: .relaxed).oldValue, index < actions.count {
            if isAlone, index + 1 < actions.count {
                isAlone = false
                elsewhere { self.run() }
            }
            actions[index].run()
        }
    }
}
