/// A timeout that needs no task of its own if the next inner around policy is another timeout, and all policies in
/// between are ``DeadlineBound``: the earlier deadline ends its whole inside.
protocol SharingTimeLimit: AroundPolicy {
    /// Admits a call without a task, if possible.
    /// - Returns: The limit; nil if the call needs a task.
    /// - Throws: The same error as ``AroundPolicy/around(_:isolation:_:)`` if there is no time to begin.
    func share(_ call: inout PolicyCall) throws -> SharedLimit?

    /// Returns the final error of a call whose inside threw an error because of the limit.
    func timedOut(_ underlying: any Error, _ call: inout PolicyCall) -> any Error
}

/// A policy that never makes a call's deadline later, and that asks only the ``PolicyCall`` whether the call was
/// cancelled. So it can't tell whether an outer timeout ends the call by cancelling its task, or by its deadline.
package protocol DeadlineBound: Policy {}
