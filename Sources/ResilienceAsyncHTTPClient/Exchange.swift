#if AsyncHTTPClient
    import AsyncHTTPClient
    import NIOCore
    import Resilience

    /// A response whose head has arrived, and the part of its body that was read.
    struct Exchange: Sendable {
        private(set) var response: HTTPClientResponse
        /// The requested URL.
        let url: String
        /// The verdict of the response.
        var verdict = Verdict.success
        /// The part of the body that was read.
        private(set) var buffered = ByteBuffer()
        private var rest: BodyRest
        private let attempt: CallAttempt
        private let timer: BodyTimer

        init(
            _ response: HTTPClientResponse, to url: String, _ attempt: CallAttempt, _ timer: BodyTimer,
            hasNoBody: Bool, isUploading: Bool
        ) {
            self.response = response
            self.url = url
            self.attempt = attempt
            self.timer = timer
            rest = hasNoBody ? .ended : .untouched(UntouchedBody(response, isUploading: isUploading))
        }

        /// Reads the body of a success up to a number of bytes. If the body is lost, the attempt fails.
        nonisolated(nonsending) mutating func buffer(_ limit: Int) async throws {
            guard limit > 0, case .untouched(let body) = rest else { return }
            await read(body, limit, until: attempt.deadline)
            guard case .failed(let error) = rest else { return }
            // The same error as for a deadline before the head.
            throw error is BodyTimer.Expired ? HTTPClientError.deadlineExceeded : error
        }

        /// Reads the body of a failure up to a number of bytes and for a time. If the body is lost, nothing changes.
        nonisolated(nonsending) mutating func buffer(_ limit: Int, within time: Duration) async throws {
            guard limit > 0, case .untouched(let body) = rest else { return }
            await read(body, limit, until: min(attempt.deadline, timer.now + max(.zero, time)))
            try Task.checkCancellation()
            guard case .failed(is BodyTimer.Expired) = rest else { return }
            rest = .failed(TimedOut(policy: "body", limit: max(.zero, time), underlying: nil))
            response.body = .stream(ResponseBody(buffered, rest, hold: nil))
        }

        private nonisolated(nonsending) mutating func read(
            _ body: UntouchedBody, _ limit: Int, until deadline: MonotonicInstant
        ) async {
            (buffered, rest) = await BegunBody(body).read(upTo: limit, until: deadline, timer)
            if case .ended = rest {
                response.body = .bytes(buffered)
            } else {
                response.body = .stream(ResponseBody(buffered, rest, hold: nil))
            }
        }

        /// The exchange of a failure, whose body must also come by the attempt's deadline, in case the response is
        /// returned.
        func limited(_ judge: RequestJudge, _ settings: ResilientHTTPClient.Settings) -> Exchange {
            if case .ended = rest { return self }
            var exchange = self
            let hasEnd = settings.endsBodyAtDeadline && attempt.deadline != .distantFuture
            let hold = hasEnd ? BodyHold(nil, judge, timer, deadline: attempt.deadline, url: url) : nil
            exchange.response.body = .stream(ResponseBody(buffered, rest, hold: hold))
            return exchange
        }

        /// The exchange with a body that completes the permit when it ends.
        func held(
            by permit: consuming PipelinePermit, _ judge: RequestJudge, _ settings: ResilientHTTPClient.Settings
        ) -> Exchange {
            if case .ended = rest {
                permit.complete(.success)
                return self
            }
            var exchange = self
            let deadline = settings.endsBodyAtDeadline ? permit.deadline : .distantFuture
            let hold = BodyHold(permit, judge, timer, deadline: deadline, url: url)
            exchange.response.body = .stream(ResponseBody(buffered, rest, hold: hold))
            return exchange
        }
    }

    /// The rest of a body.
    enum BodyRest: Sendable {
        case untouched(UntouchedBody)
        case begun(BegunBody)
        case ended
        case failed(any Error)
    }

    extension BegunBody {
        /// Reads the body.
        /// - Parameters:
        ///   - limit: The number of bytes after which reading ends. The part that reaches it is kept whole.
        ///   - deadline: When reading ends with ``BodyTimer/Expired``. Then the connection is closed.
        /// - Returns: The part that was read, and the rest.
        nonisolated(nonsending) func read(
            upTo limit: Int, until deadline: MonotonicInstant, _ timer: BodyTimer
        ) async -> (ByteBuffer, BodyRest) {
            var buffer = ByteBuffer()
            do {
                while buffer.readableBytes < limit {
                    guard var part = try await timer.run(until: deadline, { try await self.next() }) else {
                        return (buffer, .ended)
                    }
                    buffer.writeBuffer(&part)
                }
            } catch {
                return (buffer, .failed(error))
            }
            return (buffer, .begun(self))
        }
    }
#endif
