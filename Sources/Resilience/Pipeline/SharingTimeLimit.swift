/// A timeout that can end its inside without a task of its own, if its owner, or the next inner timeout, ends what runs
/// inside at the earlier limit, and all policies in between are ``DeadlineBound``.
protocol SharingTimeLimit: AroundPolicy {
    /// Admits a call.
    /// - Returns: The instant at which the inside must have ended, and the length of the limit in nanoseconds.
    /// - Throws: The same error as ``AroundPolicy/around(_:isolation:_:)`` if there is no time to begin.
    func begin(_ call: inout PolicyCall) throws -> (expiry: MonotonicInstant, length: Int64)

    /// Admits a call without a task, if the next inner timeout can end it.
    /// - Returns: As ``begin(_:)``; nil if the call needs a task.
    func share(_ call: inout PolicyCall) throws -> (expiry: MonotonicInstant, length: Int64)?

    /// Returns the final error of a call whose inside threw an error because of the limit.
    func timedOut(after length: Int64, _ underlying: any Error, _ call: inout PolicyCall) -> any Error
}

/// A policy that never makes a call's deadline later, and that asks only the ``PolicyCall`` whether the call was
/// cancelled. So it can't tell whether an outer timeout ends the call by cancelling its task, or by its deadline.
package protocol DeadlineBound: Policy {}

extension PolicyCall {
    /// The call as the inside of a timeout without a task of its own sees it.
    /// - Parameter expiry: The limit of that timeout.
    init(inside call: inout PolicyCall, until expiry: MonotonicInstant) {
        self.init(call.core, call.options, attempt: call.attempt, deadline: min(call.deadline, expiry))
        sharedLimit = SharedLimit(expiry: expiry)
        reading = call.reading
        goOn(noting: call.sharedNotes)
        account = call.account
    }

    /// The inside has ended.
    mutating func left(_ inside: inout PolicyCall) {
        account = inside.account
        reading = nil
        inside.endNotes()
    }

    /// Returns the error of the timeout whose inside threw an error.
    mutating func error(
        _ error: any Error, leaving inside: inout PolicyCall, of timeout: any SharingTimeLimit, _ length: Int64
    ) -> any Error {
        (reading, inside.reading) = (nil, nil)
        if inside.sharedLimit?.machine == .cancelled { noteCancelled() }
        if inside.isCancelled, inside.sharedLimit?.machine == .expired {
            return timeout.timedOut(after: length, error, &self)
        }
        // An inner policy may have ended the call as if it had been cancelled.
        if error is CancellationError, inside.settled?.kind == .cancelled { settled = inside.settled }
        return error
    }
}
