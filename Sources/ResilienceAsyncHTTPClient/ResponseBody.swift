#if AsyncHTTPClient
    import AsyncHTTPClient
    import NIOCore
    import Resilience

    /// A body that may have been partly read, and that reports its end.
    struct ResponseBody: AsyncSequence, Sendable {
        private let buffered: ByteBuffer
        private let rest: BodyRest
        private let hold: BodyHold?

        init(_ buffered: ByteBuffer, _ rest: BodyRest, hold: BodyHold?) {
            self.buffered = buffered
            self.rest = rest
            self.hold = hold
        }

        func makeAsyncIterator() -> AsyncIterator { AsyncIterator(buffered, rest, hold) }

        struct AsyncIterator: AsyncIteratorProtocol {
            /// The part already read, which comes first.
            private var buffered: ByteBuffer?
            private var rest: BodyRest
            private let reader: Reader

            fileprivate init(_ buffered: ByteBuffer, _ rest: BodyRest, _ hold: BodyHold?) {
                self.buffered = buffered.readableBytes > 0 ? buffered : nil
                self.rest =
                    if case .untouched(let body) = rest { .begun(BegunBody(body)) } else { rest }
                reader = Reader(hold, self.rest)
            }

            mutating func next() async throws -> ByteBuffer? {
                if let buffered = buffered.take() { return buffered }
                switch rest {
                case .begun(let body):
                    // At the end, or on an error, the body is released.
                    rest = .ended
                    guard let part = try await part(of: body) else { return nil }
                    rest = .begun(body)
                    return part
                case .failed(let error):
                    rest = .ended
                    throw error
                case .untouched, .ended: return nil
                }
            }

            private func part(of body: BegunBody) async throws -> ByteBuffer? {
                guard let hold = reader.hold else { return try await body.next() }
                do {
                    let part =
                        body.isWhole ? try await body.next() : try await hold.run { try await body.next() }
                    if part == nil { hold.ended() }
                    return part
                } catch {
                    throw hold.failed(error)
                }
            }
        }

        /// Ends the body when its reader stops, even if the response still exists.
        private final class Reader: Sendable {
            let hold: BodyHold?
            private let body: BegunBody?

            init(_ hold: BodyHold?, _ rest: BodyRest) {
                self.hold = hold
                body = if case .begun(let body) = rest { body } else { nil }
            }

            deinit {
                body?.close()
                hold?.ended()
            }
        }
    }

    /// Keeps a call inside its policies until a body has ended, and ends the body at a deadline.
    final class BodyHold: Sendable {
        private let permit: Locked<PipelinePermit?>
        private let judge: RequestJudge
        private let timer: BodyTimer
        private let began: MonotonicInstant
        private let deadline: MonotonicInstant
        /// The requested URL.
        private let url: String

        /// - Parameter permit: nil if the call has ended, because the response means failure.
        init(
            _ permit: consuming PipelinePermit?, _ judge: RequestJudge, _ timer: BodyTimer, deadline: MonotonicInstant,
            url: String
        ) {
            self.permit = Locked(permit)
            self.judge = judge
            self.timer = timer
            self.deadline = deadline
            self.url = url
            began = timer.now
        }

        /// The response was a success, and its reader needs no more of the body.
        deinit { ended() }

        /// Runs the reading of one part, until the deadline.
        nonisolated(nonsending) func run<R>(
            _ read: nonisolated(nonsending) () async throws -> R
        ) async throws -> R {
            do {
                return try await timer.run(until: deadline, read)
            } catch is BodyTimer.Expired {
                throw TimedOut(policy: "body", limit: began.duration(to: deadline), underlying: nil)
            }
        }

        /// The whole body has arrived, or the rest is not needed.
        func ended() { take()?.complete(.success) }

        /// The body was lost. The request is not repeated, since a part of the body has been passed on.
        /// - Returns: The error.
        func failed(_ error: any Error) -> any Error {
            let verdict = Task.isCancelled ? .cancelled : Verdict(judge.verdict(for: error).kind, shouldRetry: false)
            // From the error, a client timeout sees whether the body was lost because the time was over.
            take()?.complete(
                verdict, error: deadline == .distantFuture ? nil : error,
                failure: FailureDetail(of: error).at(HTTPClientRequest.host(of: url)))
            return error
        }

        private func take() -> PipelinePermit? { permit.withLock { $0.take() } }
    }
#endif
