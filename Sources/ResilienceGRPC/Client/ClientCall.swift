#if GRPC
    import GRPCCore
    import Resilience

    /// Runs the attempts of one RPC on the transport, through the pipeline.
    struct ClientCall<Base: ClientTransport>: Sendable {
        typealias Bytes = Base.Bytes

        let base: Base
        let descriptor: MethodDescriptor
        let callOptions: CallOptions
        let pipeline: Pipeline
        let runOptions: RunOptions
        let exchange: Watched<Exchange<Bytes>>
        /// Whether the pipeline relies on the attempt to end itself: a transport need not end its streams in time.
        private let endsAttempts: Bool
        private let tellsPriority: Bool

        init(
            _ base: Base, _ descriptor: MethodDescriptor, _ callOptions: CallOptions, _ pipeline: Pipeline,
            _ runOptions: RunOptions, replayLimit: Int, tellsPriority: Bool
        ) {
            self.tellsPriority = tellsPriority
            self.base = base
            self.descriptor = descriptor
            self.callOptions = callOptions
            let exchange = Watched(Exchange<Bytes>(replayLimit: replayLimit))
            self.exchange = exchange
            // If the caller passed a policy to gRPC, gRPC repeats the RPC: the retries of both must not multiply.
            let isRepeatedByGRPC = callOptions.executionPolicy != nil
            self.pipeline = pipeline.adjusting { error, verdict in
                exchange.change { $0.verdict(of: error, verdict, isRepeatedByGRPC: isRepeatedByGRPC) }
            }
            endsAttempts = !pipeline.policies(of: ClientTimeout.self).isEmpty
            var runOptions = runOptions
            if let timeout = callOptions.timeout {
                runOptions.deadline = min(runOptions.deadline, pipeline.timeBase.now + timeout)
            }
            self.runOptions = runOptions
        }

        // MARK: The caller's side

        var stream: RPCStream<Base.Inbound, Base.Outbound> {
            RPCStream(
                descriptor: descriptor, inbound: RPCAsyncSequence(wrapping: ResponseParts(exchange: exchange)),
                outbound: RPCWriter.Closable(wrapping: RequestWriter(exchange: exchange)))
        }

        /// Waits for the first stream of the transport.
        func context() async throws -> ClientContext {
            let context = try await exchange.wait { exchange -> Result<ClientContext, RPCError>? in
                exchange.endBeforeStream.map(Result.failure) ?? exchange.context.map(Result.success)
            }
            return try context.get()
        }

        // MARK: The attempts

        func run() async {
            let end: AttemptEnd
            do {
                end = try await lastEnd
            } catch {
                let failure = RPCError(policyFailure: error) ?? (error as? RPCError)
                end = .lost(failure ?? RPCError(code: .unknown, message: "The RPC failed.", cause: error))
            }
            exchange.change { $0.finish(end) }
        }

        private var lastEnd: AttemptEnd {
            get async throws {
                guard mayBeCopied else {
                    return try await pipeline.run(
                        options: runOptions, judging: { verdict(of: $0) }, { try await attempt($0) })
                }
                return try await pipeline.runHedged(
                    options: runOptions, judging: { verdict(of: $0) },
                    { try await attempt($0, mayBeginNoMore: $1) })
            }
        }

        /// Whether the pipeline may copy the RPC: not if the caller has an execution policy, since gRPC then makes the
        /// copies.
        private var mayBeCopied: Bool { pipeline.makesCopies && callOptions.executionPolicy == nil }

        private func verdict(of end: AttemptEnd) -> Verdict {
            let (isReplayable, hasFailed) = exchange.change { ($0.requests.isReplayable, $0.requests.hasFailed) }
            // If the caller passed a policy to gRPC, gRPC repeats the RPC: the retries of both must not multiply.
            let canRepeat = isReplayable && callOptions.executionPolicy == nil
            return end.verdict(canRepeat: canRepeat, requestFailed: hasFailed)
        }

        /// - Parameter mayBeginNoMore: Called when the RPC is committed to an attempt.
        private func attempt(
            _ attempt: CallAttempt, mayBeginNoMore: @escaping @Sendable () -> Void = {}
        ) async throws -> AttemptEnd {
            let isCopy = attempt.hedge > 0
            guard let number = exchange.change({ $0.begin(isCopy: isCopy) }) else {
                // A retry rule requested an impossible attempt: the call ends like its last attempt.
                if isCopy { throw CopyLost(policy: "hedge") }
                guard let last = exchange.change({ $0.lastEnd }) else { throw CancellationError() }
                return last
            }
            var options = callOptions
            let timeout: Duration? =
                attempt.deadline == .distantFuture ? nil : attempt.remaining(on: pipeline.timeBase)
            if let timeout { options.timeout = timeout }
            let progress = Locked(Progress())
            do {
                try await untilDeadline(of: attempt) {
                    try await base.withStream(descriptor: descriptor, options: options) { stream, context in
                        exchange.change { $0.opened(number, context) }
                        progress.withLock { $0.isOpen = true }
                        let end = await withTaskGroup(of: Void.self) { group in
                            group.addTask { await send(to: stream.outbound, number, timeout) }
                            defer { group.cancelAll() }
                            guard mayBeCopied else { return await receive(from: stream.inbound, number) }
                            return await unlessLost(number, mayBeginNoMore) {
                                await receive(from: stream.inbound, number)
                            }
                        }
                        progress.withLock { $0.end = end }
                    }
                    // Thrown so that the pipeline looks for the cause of the end.
                    if progress.withLock({ $0.end }) == nil { throw CancellationError() }
                }
            } catch {
                // A transport's error after the end, for example on closing the stream, changes nothing.
                if progress.withLock({ $0.end }) == nil, !Task.isCancelled,
                    !exchange.change({ $0.requests.hasLost(number) })
                {
                    progress.withLock { $0.failed(error) }
                }
            }
            guard let end = progress.withLock({ $0.end }) else {
                guard exchange.change({ $0.cutOff(number) }) else { throw CopyLost(policy: "hedge") }
                throw CancellationError()
            }
            guard exchange.change({ $0.ended(number, end) }) else { throw CopyLost(policy: "hedge") }
            return end
        }

        /// Receives the response of one of several copies, until the RPC is committed to another copy.
        private func unlessLost(
            _ number: Int, _ mayBeginNoMore: @escaping @Sendable () -> Void,
            _ receive: @escaping @Sendable () async -> AttemptEnd?
        ) async -> AttemptEnd? {
            await withTaskGroup(of: AttemptEnd?.self) { group in
                group.addTask { await receive() }
                group.addTask {
                    do {
                        try await exchange.wait { $0.requests.isReplayable ? nil : () }
                        mayBeginNoMore()
                        try await exchange.wait { $0.requests.hasLost(number) ? () : nil }
                    } catch {
                        // The wait was cancelled, because the response has ended.
                    }
                    return nil
                }
                let first = await group.next() ?? nil
                group.cancelAll()
                let second = await group.next() ?? nil
                return first ?? second
            }
        }

        /// The progress of an attempt.
        private struct Progress {
            var isOpen = false
            var end: AttemptEnd?

            mutating func failed(_ error: any Error) {
                let isLate = error is TimedOut || error is DeadlinePassed
                let failure =
                    (isLate ? RPCError(policyFailure: error) : error as? RPCError)
                    ?? RPCError(
                        code: .unavailable,
                        message: isOpen ? "The transport lost the stream." : "The transport gave no stream.",
                        cause: error)
                end = isOpen ? .lost(failure) : .notOpened(failure)
            }
        }

        private func untilDeadline(
            of attempt: CallAttempt, _ work: nonisolated(nonsending) () async throws -> Void
        ) async throws {
            guard endsAttempts, attempt.deadline != .distantFuture else { return try await work() }
            let limit = Pipeline("attempt", timeBase: pipeline.timeBase) {}
            try await limit.run(options: RunOptions(deadline: attempt.deadline), work)
        }

        private func send(to outbound: Base.Outbound, _ number: Int, _ timeout: Duration?) async {
            do {
                while true {
                    switch try await exchange.wait({ $0.requests.next(for: number) }) {
                    case .part(.metadata(var metadata)):
                        if let timeout {
                            metadata.replaceOrAddString(TimeoutField.text(timeout), forKey: TimeoutField.key)
                        }
                        let told = CallOrigin.told(number)
                        if told > 1 { metadata.replaceOrAddString("\(told - 1)", forKey: OriginMetadata.attempts) }
                        if tellsPriority { OriginMetadata.add(runOptions.effectivePriority, to: &metadata) }
                        try await outbound.write(.metadata(metadata))
                    case .part(let part): try await outbound.write(part)
                    case .end(.finished): return await outbound.finish()
                    case .end(.failed(let error)): return await outbound.finish(throwing: error)
                    }
                }
            } catch {
                // The response shows why: the server has answered, or the stream is lost.
            }
        }

        /// Receives the response; nil if no part of it is wanted any more, or the task is cancelled.
        private func receive(from inbound: Base.Inbound, _ number: Int) async -> AttemptEnd? {
            do {
                for try await part in inbound {
                    if case .status(let status, let metadata) = part { return .status(status, metadata) }
                    guard try await exchange.wait({ $0.hand(part, of: number) }) else { return nil }
                }
                if Task.isCancelled { return nil }
                return .lost(RPCError(code: .internalError, message: "The response ended without a status."))
            } catch {
                if Task.isCancelled { return nil }
                return .lost(
                    error as? RPCError
                        ?? RPCError(code: .unavailable, message: "The transport lost the stream.", cause: error))
            }
        }
    }
#endif
