/// A timeout that needs no task of its own if the next around policy inside of it is another one, and all policies between the two
/// are ``DeadlineBound``: it makes the deadline of its inside earlier, and that ends all of it.
protocol SharingTimeLimit: AroundPolicy {
    /// Takes a call in that is to do without a task.
    /// - Returns: The limit; nil if the call needs the task all the same.
    /// - Throws: What ``AroundPolicy/around(_:isolation:_:)`` throws if there is no time to begin.
    func share(_ call: inout PolicyCall) throws -> SharedLimit?

    /// Returns what a call ends with whose inside threw an error because of the limit.
    func timedOut(_ underlying: any Error, _ call: inout PolicyCall) -> any Error
}

/// A policy that never makes the deadline of a call later, and that asks no one but the ``PolicyCall`` whether the call was
/// cancelled. It can't tell then by what a timeout further out ends the call: by cancelling its task, or by its deadline.
package protocol DeadlineBound: Policy {}
