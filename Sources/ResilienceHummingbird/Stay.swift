#if Hummingbird
    import HTTPTypes
    import Hummingbird
    import NIOCore
    import Resilience

    /// The stay of one request in a pipeline. It ends once. A stay that is released without an end counts as cancelled.
    final class Stay: Sendable {
        private struct State: ~Copyable {
            var permit: PipelinePermit?
            var isClientGone = false
        }

        private let state = Locked(State())

        func begin(_ permit: consuming PipelinePermit) {
            // A closure can't consume its captures, so it takes the permit out of an optional.
            var permit = Optional(permit)
            state.withLock { $0.permit = permit.take() }
        }

        func end(_ verdict: Verdict, error: (any Error)? = nil, failure: FailureDetail? = nil) {
            // Reported outside of the lock: policies and observers may do anything.
            let permit = state.withLock { $0.permit.take() }
            permit?.complete(verdict, error: error, failure: failure)
        }

        /// Whether the connection rejected writes.
        var isClientGone: Bool {
            get { state.withLock { $0.isClientGone } }
            set { state.withLock { $0.isClientGone = newValue } }
        }
    }

    extension ResponseBody {
        /// Returns the same body, which ends a stay when it has been written, could not be written, or is dropped.
        /// - Parameters:
        ///   - verdict: The verdict of the stay if the body was written.
        ///   - failure: The failure for observers in that case; nil if the verdict is a success.
        ///   - limit: Ends the writing if it takes too long.
        ///   - connection: Ends the writing when its client disconnects; nil if unknown.
        func holding(
            _ stay: Stay, verdict: Verdict, failure: FailureDetail?, in pipeline: Pipeline, limit: Pipeline?,
            connection: (any Channel)?
        ) -> ResponseBody {
            // A body of known length is mostly in memory already, and does not wait.
            let connection = contentLength == nil ? connection : nil
            return ResponseBody(contentLength: contentLength) { writer in
                // Safe: the closure runs once, its end is waited for, and meanwhile nothing else uses the writer.
                nonisolated(unsafe) let watched = WatchedWriter(base: writer, stay: stay)
                try await ClientWatch.run(on: connection) {
                    do {
                        try await write(watched, within: limit)
                        stay.end(verdict, failure: failure)
                    } catch {
                        let isCancelled = stay.isClientGone || Task.isCancelled
                        stay.end(isCancelled ? .cancelled : pipeline.verdict(for: error), error: error)
                        throw error
                    }
                }
            }
        }

        @concurrent private func write(_ writer: WatchedWriter, within limit: Pipeline?) async throws {
            guard let limit else { return try await write(writer) }
            // Safe: the pipeline runs the closure once and waits for its end, and meanwhile nothing else uses the
            // writer.
            nonisolated(unsafe) let writer = writer
            try await limit.runPart { try await write(writer) }
        }
    }

    /// Distinguishes errors of the connection from those of the body's producer.
    private struct WatchedWriter: ResponseBodyWriter {
        var base: any ResponseBodyWriter
        let stay: Stay

        @concurrent mutating func write(_ buffer: ByteBuffer) async throws {
            do { try await base.write(buffer) } catch { throw noted(error) }
        }

        @concurrent mutating func write(contentsOf buffers: some Sequence<ByteBuffer>) async throws {
            do { try await base.write(contentsOf: buffers) } catch { throw noted(error) }
        }

        @concurrent consuming func finish(_ trailingHeaders: HTTPFields?) async throws {
            let (base, stay) = (base, stay)
            do { try await base.finish(trailingHeaders) } catch {
                stay.isClientGone = true
                throw error
            }
        }

        private func noted(_ error: any Error) -> any Error {
            stay.isClientGone = true
            return error
        }
    }
#endif
