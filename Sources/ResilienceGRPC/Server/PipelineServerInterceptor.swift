#if GRPC
    public import GRPCCore
    public import Resilience

    /// Asks a pipeline before each RPC of a server, and rejects RPCs that it does not admit: a bulkhead limits the RPCs
    /// in flight, a throttle their rate.
    ///
    /// ```swift
    /// let server = GRPCServer(
    ///     transport: http2, services: [greeter],
    ///     interceptors: [PipelineServerInterceptor(through: limits)])
    /// ```
    ///
    /// An RPC holds its permits until its handler has failed, or its whole response has been produced.
    ///
    /// The client's `grpc-timeout` becomes the ``/Resilience/CallDeadline`` of the handler and of the response's
    /// producer, and all their pipelines obey it. An RPC whose deadline passes before it is admitted fails without a
    /// handler. An unreadable value is ignored.
    ///
    /// `grpc-previous-rpc-attempts` becomes the handler's ``/Resilience/CallOrigin``, and so does a `priority` (RFC
    /// 9218) if the interceptor reads it. So a handler repeats no call for an RPC that is itself a retry. If its own
    /// retries have failed, or the RPC has been tried three times, a failure has a `grpc-retry-pushback-ms` of -1: the
    /// client must not try again.
    ///
    /// A rejection, and an error of a policy that the handler throws, become a status: ``/Resilience/DeadlinePassed``
    /// and ``/Resilience/TimedOut`` are `DEADLINE_EXCEEDED`; a full bulkhead and an exhausted throttle are
    /// `RESOURCE_EXHAUSTED`; an open circuit and all others are `UNAVAILABLE`; a cancellation is `CANCELLED`. If a
    /// rejection names a wait, the status has it as `grpc-retry-pushback-ms`, so that clients obey it. Other errors are
    /// rethrown unchanged.
    ///
    /// An RPC is one attempt, since its request can't be read twice: a ``/Resilience/Retry`` or a
    /// ``/Resilience/Timeout`` in the pipeline has no effect. A ``/Resilience/ClientTimeout`` makes the handler's
    /// deadline earlier.
    public struct PipelineServerInterceptor: ServerInterceptor {
        private let pipeline: @Sendable (MethodDescriptor) -> Pipeline
        private let options: @Sendable (MethodDescriptor) -> RunOptions
        private let highest: CallPriority?

        /// Creates an interceptor that asks one pipeline before all RPCs.
        ///
        /// - Parameters:
        ///   - pipeline: The pipeline.
        ///   - highest: The highest priority that a client may ask for. nil, the default: priorities are not read.
        ///   - options: The options for a method's RPCs, such as a priority. By default none.
        public init(
            through pipeline: Pipeline, highestPriority highest: CallPriority? = nil,
            options: @escaping @Sendable (MethodDescriptor) -> RunOptions = { _ in RunOptions() }
        ) {
            self.init(highestPriority: highest, options: options) { _ in pipeline }
        }

        /// Creates an interceptor that asks a pipeline for each method or service.
        ///
        /// - Parameters:
        ///   - highest: The highest priority that a client may ask for. nil, the default: priorities are not read.
        ///   - options: The options for a method's RPCs. By default none.
        ///   - pipeline: Returns the pipeline of a method.
        public init(
            highestPriority highest: CallPriority? = nil,
            options: @escaping @Sendable (MethodDescriptor) -> RunOptions = { _ in RunOptions() },
            pipeline: @escaping @Sendable (MethodDescriptor) -> Pipeline
        ) {
            self.pipeline = pipeline
            self.options = options
            self.highest = highest
        }

        @concurrent public func intercept<Input: Sendable, Output: Sendable>(
            request: StreamingServerRequest<Input>, context: ServerContext,
            next:
                @concurrent @Sendable (StreamingServerRequest<Input>, ServerContext) async throws
                -> StreamingServerResponse<Output>
        ) async throws -> StreamingServerResponse<Output> {
            let origin = OriginMetadata.origin(in: request.metadata, atMost: highest)
            return try await origin.run { try await admit(request, context, origin, next) }
        }

        private func admit<Input: Sendable, Output: Sendable>(
            _ request: StreamingServerRequest<Input>, _ context: ServerContext, _ origin: CallOrigin,
            _ next:
                @concurrent @Sendable (StreamingServerRequest<Input>, ServerContext) async throws
                -> StreamingServerResponse<Output>
        ) async throws -> StreamingServerResponse<Output> {
            let pipeline = pipeline(context.descriptor)
            var options = options(context.descriptor)
            if let timeout = TimeoutField.duration(in: request.metadata) {
                options.deadline = min(options.deadline, pipeline.timeBase.now + timeout)
            }
            let admission: Admission
            do {
                admission = try await Admission.to(pipeline, options)
            } catch {
                // gRPC itself cancels an RPC at its deadline, and may be first.
                let isLate = error is CancellationError && options.deadline <= pipeline.timeBase.now
                throw Self.failure(of: isLate ? DeadlinePassed() : error, origin)
            }
            let deadline = CallDeadline(at: admission.deadline, on: pipeline.timeBase)
            return try await Self.guarded(admission, context, origin) {
                let response = try await Self.run(until: deadline) { try await next(request, context) }
                var contents = try response.accepted.get()
                let produce = contents.producer
                contents.producer = { writer in
                    try await Self.guarded(admission, context, origin) {
                        let trailers = try await origin.run {
                            try await Self.run(until: deadline) { try await produce(writer) }
                        }
                        admission.succeeded()
                        return trailers
                    }
                }
                return StreamingServerResponse(accepted: .success(contents))
            }
        }

        /// Runs work; if the work fails, the RPC ends.
        private static func guarded<R>(
            _ admission: Admission, _ context: ServerContext, _ origin: CallOrigin, _ work: () async throws -> R
        ) async throws -> R {
            do {
                return try await work()
            } catch {
                admission.failed(error, context)
                throw failure(of: error, origin)
            }
        }

        /// The error with which the RPC fails. If the client must not retry, the error asks it not to: this overrides
        /// the wait of a rejection, but not the handler's own pushback.
        private static func failure(of error: any Error, _ origin: CallOrigin) -> any Error {
            let own = (error as? any RPCErrorConvertible).map { RPCError($0) }
            let mayRetry = origin.shouldCallerRetry != false
            if let own, mayRetry || own.metadata.joined(RetryPushback.key) != nil { return error }
            guard var failure = own ?? RPCError(policyFailure: error) else { return error }
            if !mayRetry { failure.metadata.replaceOrAddString("-1", forKey: RetryPushback.key) }
            return failure
        }

        private static func run<R>(until deadline: CallDeadline, _ work: () async throws -> R) async throws -> R {
            guard deadline.instant != .distantFuture else { return try await work() }
            return try await deadline.run(work)
        }
    }
#endif
