#if GRPC
    import GRPCCore
    import Resilience

    /// One RPC between its caller and its attempts: the caller's writes, and the parts that it can read.
    struct Exchange<Bytes: GRPCContiguousBytes & Sendable>: Sendable {
        /// The caller's next read.
        enum Reading: Sendable {
            case part(RPCResponsePart<Bytes>)
            case failed(RPCError)
            case nothing
        }

        var requests: RequestLog<Bytes>
        /// The context of the first stream that was opened.
        private(set) var context: ClientContext?
        /// The number of attempts that have begun.
        private(set) var attempts = 0
        /// How the last attempt ended.
        private(set) var lastEnd: AttemptEnd?
        /// The attempts that have a stream and have not ended, including the latest ones that a policy cut off.
        private var open: Set<Int> = []
        /// The part that waits for the caller: one at a time, so that a slow reader slows the server down.
        private var waiting: RPCResponsePart<Bytes>?
        /// How the response ends.
        private var end: AttemptEnd?
        private var isEndRead = false
        /// Whether the caller has stopped reading.
        private var isAbandoned = false

        init(replayLimit: Int) { requests = RequestLog(limit: replayLimit) }

        /// Whether further writes are useless.
        var isOver: Bool { end != nil || isAbandoned }

        // MARK: The caller

        /// How the RPC ended before any stream was opened; nil if it did not end then.
        var endBeforeStream: RPCError? {
            guard context == nil else { return nil }
            return switch end {
            case nil: nil
            case .lost(let error), .notOpened(let error): error
            case .status(let status, let metadata):
                RPCError(status: status, metadata: metadata)
                    ?? RPCError(code: .internalError, message: "There was no stream.")
            }
        }

        /// Returns the caller's next read; nil if the caller has to wait.
        mutating func read() -> Reading? {
            if let part = waiting {
                waiting = nil
                return .part(part)
            }
            if isEndRead || isAbandoned { return .nothing }
            guard let end else { return nil }
            isEndRead = true
            return switch end {
            case .status(let status, let metadata): .part(.status(status, metadata))
            case .lost(let error), .notOpened(let error): .failed(error)
            }
        }

        mutating func abandon() { isAbandoned = true }

        // MARK: The attempts

        /// An attempt begins; nil if the RPC can't be repeated, or the caller has stopped reading.
        /// - Parameter isCopy: Whether earlier attempts continue.
        mutating func begin(isCopy: Bool) -> Int? {
            guard attempts == 0 || requests.isReplayable, !isAbandoned else { return nil }
            attempts += 1
            if !isCopy { open = [] }
            requests.begin(attempts, isCopy: isCopy)
            return attempts
        }

        mutating func opened(_ attempt: Int, _ context: ClientContext) {
            self.context = self.context ?? context
            open.insert(attempt)
        }

        /// An attempt ends. A success commits the RPC to it.
        /// - Returns: Whether its end counts: not if the RPC is committed to another attempt.
        mutating func ended(_ attempt: Int, _ end: AttemptEnd) -> Bool {
            open.remove(attempt)
            guard !requests.hasLost(attempt) else { return false }
            if end.isSuccess { requests.commit(to: attempt) } else { requests.ended(attempt) }
            lastEnd = end
            return true
        }

        /// The attempt is cancelled: by the caller, by a policy (whose error is judged next), or for another copy.
        /// - Returns: Whether its end counts: not if the RPC is committed to another attempt.
        mutating func cutOff(_ attempt: Int) -> Bool {
            guard !requests.hasLost(attempt) else {
                open.remove(attempt)
                return false
            }
            requests.ended(attempt)
            lastEnd = .lost(
                RPCError(code: .deadlineExceeded, message: "The attempt ended before the server's status came."))
            return true
        }

        /// The verdict of a policy's error, such as one that ended an attempt.
        func verdict(of error: any Error, _ verdict: Verdict, isRepeatedByGRPC: Bool) -> Verdict {
            var verdict = verdict
            // Without a stream nothing was sent.
            if error is TimedOut, open.isEmpty, verdict.kind == .uncertain {
                verdict = Verdict(.transient, retryAfter: verdict.retryAfter, shouldRetry: verdict.shouldRetry)
            }
            return requests.isReplayable && !isRepeatedByGRPC ? verdict : verdict.withoutRetry
        }

        /// Passes a part of the response to the caller, and so commits the RPC to this attempt. nil if the caller has
        /// not read the previous part; false if the caller wants no more parts, or no parts from this attempt.
        mutating func hand(_ part: RPCResponsePart<Bytes>, of attempt: Int) -> Bool? {
            if isAbandoned || requests.hasLost(attempt) { return false }
            guard waiting == nil else { return nil }
            waiting = part
            requests.commit(to: attempt)
            return true
        }

        mutating func finish(_ end: AttemptEnd) { self.end = self.end ?? end }
    }
#endif
