import Synchronization

/// Alarms that are due at the same time: begun in order, and none of them waits for long because another blocks.
///
/// An action must not block, but one that cancels a task runs whatever that task does when it is cancelled, which is a user's
/// code. So whoever runs an action while others are left has somebody else go on with those.
final class DueActions: Sendable {
    typealias Elsewhere = @Sendable (@escaping @Sendable () -> Void) -> Void

    private let actions: [AlarmQueue.Action]
    private let begun = Atomic(0)
    private let elsewhere: Elsewhere

    /// - Parameter elsewhere: runs something on another thread, as soon as one is free.
    init(_ actions: [AlarmQueue.Action], elsewhere: @escaping Elsewhere) {
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
            actions[index]()
        }
    }
}
