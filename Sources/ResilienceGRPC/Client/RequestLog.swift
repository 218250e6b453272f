#if GRPC
    import GRPCCore

    /// The caller's request, kept so that a further attempt can send it again.
    ///
    /// Once the RPC is committed, or the request is larger than the limit, only unsent parts are kept.
    struct RequestLog<Bytes: GRPCContiguousBytes & Sendable>: Sendable {
        enum End: Sendable {
            case finished
            case failed(any Error)
        }

        enum Step: Sendable {
            case part(RPCRequestPart<Bytes>)
            case end(End)
        }

        /// The largest request in bytes that can be sent again.
        let limit: Int
        private var parts: [RPCRequestPart<Bytes>] = []
        /// The number of parts that are no longer kept.
        private var dropped = 0
        private var size = 0
        /// How many parts each running or latest attempt has taken.
        private var taken: [Int: Int] = [:]
        /// The largest number of parts that any attempt has taken.
        private(set) var furthest = 0
        /// Whether the request can be sent again from its beginning.
        private(set) var isReplayable = true
        /// The attempt that the RPC is committed to; nil while another attempt may follow, or no attempt has begun.
        private(set) var holder: Int?
        private(set) var end: End?

        init(limit: Int) { self.limit = limit }

        /// The number of parts that were written.
        var count: Int { dropped + parts.count }

        /// Whether the caller's own producer failed.
        var hasFailed: Bool {
            if case .failed = end { true } else { false }
        }

        mutating func append(_ part: RPCRequestPart<Bytes>) {
            guard end == nil else { return }
            parts.append(part)
            // gRPC frames each message with five bytes, so empty messages also count.
            if case .message(let bytes) = part { size = size.addingReportingOverflow(bytes.count + 5).partialValue }
            if size > limit { commit() }
        }

        mutating func finish(_ end: End) { self.end = self.end ?? end }

        /// An attempt's next step; nil if the caller has not written the next part yet, or the RPC is committed to
        /// another attempt.
        mutating func next(for attempt: Int) -> Step? {
            guard !hasLost(attempt), let taken = taken[attempt] else { return nil }
            guard taken < count else { return end.map(Step.end) }
            let part = parts[taken - dropped]
            self.taken[attempt] = taken + 1
            furthest = max(furthest, taken + 1)
            if !isReplayable { dropTaken() }
            return .part(part)
        }

        /// An attempt begins.
        /// - Parameter isCopy: Whether earlier attempts continue.
        mutating func begin(_ attempt: Int, isCopy: Bool) {
            if !isCopy { taken = [:] }
            taken[attempt] = 0
            if !isReplayable, holder == nil { holder = attempt }
        }

        /// An attempt has ended: the RPC can no longer be committed to it.
        mutating func ended(_ attempt: Int) {
            if holder != attempt { taken[attempt] = nil }
        }

        /// No further attempt follows.
        /// - Parameter attempt: The attempt that continues. nil, the default, for the attempt that has sent most.
        mutating func commit(to attempt: Int? = nil) {
            guard isReplayable else { return }
            isReplayable = false
            // In a tie, the first.
            holder = attempt ?? taken.max { ($0.value, $1.key) < ($1.value, $0.key) }?.key
            dropTaken()
        }

        /// Whether the RPC is committed to another attempt.
        func hasLost(_ attempt: Int) -> Bool { holder.map { $0 != attempt } ?? false }

        private mutating func dropTaken() {
            guard let holder, let taken = taken[holder] else { return }
            parts.removeFirst(taken - dropped)
            dropped = taken
        }
    }
#endif
