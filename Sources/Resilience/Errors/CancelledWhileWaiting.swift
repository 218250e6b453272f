/// The task was cancelled while it waited for another attempt: the call is over, and this is why it had to wait.
///
/// A call cancelled in the operation throws what the operation throws, and one cancelled while it waits for its first
/// attempt throws `CancellationError`.
public struct CancelledWhileWaiting: Error, CustomStringConvertible {
    /// What the last attempt threw.
    public let lastError: any Error

    public init(lastError: any Error) { self.lastError = lastError }

    public var description: String { "Cancelled while waiting to try again; the last attempt failed: \(lastError)" }
}
