#if GRPC
    import GRPCCore
    import Resilience

    /// The permit of one RPC on a server, shared by the handler and the producer of its response.
    ///
    /// If neither reports an end, because the producer never ran, the permit is dropped, which counts as cancelled.
    final class Admission: Sendable {
        private let permit: Locked<PipelinePermit?>
        /// The instant at which the RPC must have ended.
        let deadline: MonotonicInstant

        init(_ permit: consuming PipelinePermit) {
            deadline = permit.deadline
            self.permit = Locked(permit)
        }

        /// Asks the pipeline, and gives up as soon as the client cancels: gRPC reports a cancellation to a handle, not
        /// to the task.
        static func to(_ pipeline: Pipeline, _ options: RunOptions) async throws -> Admission {
            let task = Task { Admission(try await pipeline.acquire(options: options)) }
            return try await withTaskCancellationHandler {
                try await withRPCCancellationHandler {
                    try await task.value
                } onCancelRPC: {
                    task.cancel()
                }
            } onCancel: {
                task.cancel()
            }
        }

        func succeeded() { permit.withLock { $0.take() }?.complete(.success) }

        /// - Parameter context: If its RPC is cancelled, the error is inconclusive.
        func failed(_ error: any Error, _ context: ServerContext) {
            let permit = permit.withLock { $0.take() }
            if context.cancellation.isCancelled {
                permit?.complete(.cancelled, error: error)
            } else {
                permit?.complete(throwing: error)
            }
        }
    }
#endif
