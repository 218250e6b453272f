#if GRPC
    public import GRPCCore
    public import Resilience

    /// Runs every RPC of a client through a pipeline, with retries: unary, or streaming in one direction or both.
    ///
    /// ```swift
    /// let pipeline = Pipeline("greeter") {
    ///     Retry(maxRetries: 3)
    ///     breaker
    ///     Bulkhead(limit: 64)
    /// }
    /// let transport = PipelineClientTransport(http2, through: pipeline)
    /// try await withGRPCClient(transport: transport) { client in
    ///     let greeter = Greeter.Client(wrapping: client)
    ///     let reply = try await greeter.sayHello(request)
    /// }
    /// ```
    ///
    /// It is a transport around another transport, not an interceptor, because an interceptor has only one stream, on
    /// which an RPC can't be repeated.
    ///
    /// An attempt begins when the pipeline admits it, and ends with the server's status: so a stream holds its permits
    /// until it ends, and a ``/Resilience/Timeout`` limits the whole stream, as gRPC's own deadlines do. The verdict of
    /// an attempt comes from its status: see `Verdict.init(_:)`. A stream that the transport loses is uncertain. If the
    /// transport gives an RPC no stream, nothing was sent: the attempt is transient instead of uncertain. An attempt
    /// that the pipeline's timeout ends is also uncertain, once it has a stream.
    ///
    /// An RPC is repeated only until it is committed. As in gRPC's retry design (A6), it is committed when the first
    /// part of the response other than the status arrives, or when the request exceeds `replayLimit`. Parts of the
    /// request are kept until then, and further attempts send them again: the caller's producer runs once. After the
    /// commit a failure goes to the caller.
    ///
    /// A `Hedge` in the pipeline makes copies of an RPC. The copy whose response begins first, or that succeeds without
    /// a response, wins the RPC: the others are cancelled, and no further copy begins. Until then a failed copy ends
    /// the RPC, unless its status begins the next copy.
    ///
    /// The deadline is the earliest of the caller's `CallOptions.timeout`, ``/Resilience/RunOptions/deadline``, the
    /// ``/Resilience/CallDeadline`` that travels with the task, and the pipeline's timeouts: the server receives it in
    /// `grpc-timeout`, and no attempt continues after it.
    ///
    /// `grpc-previous-rpc-attempts` tells the server the number of earlier attempts: the larger of this RPC's number
    /// and that of the request that the task answers (``/Resilience/CallOrigin``).
    ///
    /// A call that a policy rejects or ends fails with an `RPCError`: ``/Resilience/DeadlinePassed`` and
    /// ``/Resilience/TimedOut`` are `DEADLINE_EXCEEDED`; a full bulkhead and an exhausted throttle are
    /// `RESOURCE_EXHAUSTED`; an open circuit and all others are `UNAVAILABLE`. The policy's error is the `cause`.
    ///
    /// gRPC's own retries and hedges, from a service configuration, are switched off for methods whose pipeline has a
    /// ``/Resilience/Retry`` or a `Hedge`. A call with an `executionPolicy` in its own `CallOptions` is repeated by
    /// gRPC, not by the pipeline: each of its attempts goes through the pipeline as a call.
    ///
    /// Interceptors see a call once, not its attempts.
    public final class PipelineClientTransport<Base: ClientTransport>: ClientTransport {
        public typealias Bytes = Base.Bytes

        private let base: Base
        private let pipeline: @Sendable (MethodDescriptor) -> Pipeline
        private let options: @Sendable (MethodDescriptor) -> RunOptions
        private let replayLimit: Int
        private let tellsPriority: Bool

        /// Creates a transport whose RPCs all go through one pipeline.
        ///
        /// - Parameters:
        ///   - base: The transport that carries the RPCs.
        ///   - pipeline: The pipeline.
        ///   - replayLimit: The largest request that can be repeated: the sum of its messages in bytes, with 5 more
        ///     bytes for each message. 256 KiB by default, as in gRPC's C core. 0 or less: an RPC is no longer repeated
        ///     once it has written a message.
        ///   - tellsPriority: Whether the server is told the call's priority, as `priority` in the metadata (RFC
        ///     9218). False by default.
        ///   - options: The options for a method's calls, such as whether it is idempotent, which gRPC does not know.
        ///     By default none.
        public convenience init(
            _ base: Base, through pipeline: Pipeline, replayLimit: Int = 256 * 1024, tellsPriority: Bool = false,
            options: @escaping @Sendable (MethodDescriptor) -> RunOptions = { _ in RunOptions() }
        ) {
            self.init(base, replayLimit: replayLimit, tellsPriority: tellsPriority, options: options) { _ in pipeline }
        }

        /// Creates a transport whose RPCs go through a pipeline for each method or service, such as one of a registry.
        ///
        /// - Parameters:
        ///   - base: The transport that carries the RPCs.
        ///   - replayLimit: The largest request that can be repeated, in bytes, as for
        ///     ``init(_:through:replayLimit:tellsPriority:options:)``.
        ///   - tellsPriority: Whether the server is told the call's priority. False by default.
        ///   - options: The options for a method's calls. By default none.
        ///   - pipeline: Returns the pipeline of a method. It is called twice for each RPC.
        public init(
            _ base: Base, replayLimit: Int = 256 * 1024, tellsPriority: Bool = false,
            options: @escaping @Sendable (MethodDescriptor) -> RunOptions = { _ in RunOptions() },
            pipeline: @escaping @Sendable (MethodDescriptor) -> Pipeline
        ) {
            self.base = base
            self.pipeline = pipeline
            self.options = options
            self.replayLimit = replayLimit
            self.tellsPriority = tellsPriority
        }

        /// The throttle of the transport that carries the RPCs.
        public var retryThrottle: RetryThrottle? { base.retryThrottle }

        /// Connects the transport that carries the RPCs, and returns when it has closed.
        ///
        /// - Throws: The error of that transport.
        public func connect() async throws { try await base.connect() }

        /// Begins no further streams; open ones continue.
        public func beginGracefulShutdown() { base.beginGracefulShutdown() }

        /// The configuration of the transport that carries the RPCs, without a retry or hedging policy if the method's
        /// pipeline has a ``/Resilience/Retry`` or a `Hedge`.
        ///
        /// - Parameter descriptor: The method.
        /// - Returns: The configuration; nil if the transport has none.
        public func config(forMethod descriptor: MethodDescriptor) -> MethodConfig? {
            guard var config = base.config(forMethod: descriptor) else { return nil }
            let pipeline = pipeline(descriptor)
            if pipeline.makesCopies || !pipeline.policies(of: Retry.self).isEmpty { config.executionPolicy = nil }
            return config
        }

        /// Runs an RPC through the pipeline of its method.
        ///
        /// - Parameters:
        ///   - descriptor: The method.
        ///   - callOptions: The caller's options.
        ///   - closure: Receives the RPC's stream and its context.
        /// - Returns: The result of the closure.
        /// - Throws: The error of the closure, or an `RPCError`.
        @concurrent public func withStream<T: Sendable>(
            descriptor: MethodDescriptor, options callOptions: CallOptions,
            _ closure: @concurrent (_ stream: RPCStream<Inbound, Outbound>, _ context: ClientContext) async throws -> T
        ) async throws -> T {
            let call = ClientCall(
                base, descriptor, callOptions, pipeline(descriptor), options(descriptor), replayLimit: replayLimit,
                tellsPriority: tellsPriority)
            return try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { await call.run() }
                defer {
                    // Cancels first: an attempt that finds the RPC abandoned must count as cancelled, not failed.
                    group.cancelAll()
                    call.exchange.change { $0.abandon() }
                }
                let context: ClientContext
                do {
                    context = try await call.context()
                } catch is CancellationError {
                    throw RPCError(code: .cancelled, message: "The call was cancelled.", cause: CancellationError())
                }
                return try await closure(call.stream, context)
            }
        }
    }
#endif
