public import Resilience

/// One run of an operation, and its result.
@usableFromInline final class Flight<Value: Sendable>: Sendable {
    @usableFromInline let calls: FlightCalls
    @usableFromInline let result = Locked<Result<Value, any Error>?>(nil)

    /// - Parameters:
    ///   - priority: That of the call that begins the flight.
    ///   - waiter: That call's.
    @inlinable init(priority: TaskPriority, first waiter: PolicyWaiter) {
        calls = FlightCalls(priority: priority, first: waiter)
    }

    /// Runs the operation of the flight.
    @inlinable nonisolated(nonsending) func run(
        _ operation: nonisolated(nonsending) @Sendable () async throws -> Value
    ) async -> Result<Value, any Error> {
        var result: Result<Value, any Error>?
        await calls.inFlight {
            do {
                result = .success(try await operation())
            } catch {
                result = .failure(error)
            }
        }
        return result!
    }

    /// The operation has ended, and somebody waits.
    @inlinable func land(_ result: Result<Value, any Error>) {
        self.result.withLock { $0 = result }
        calls.landed()
    }

    /// nil until the flight has landed.
    @inlinable var landed: Result<Value, any Error>? { result.withLock { $0 } }
}
