#if GRPC
    import GRPCCore

    /// What the caller has written of a request, kept so that a further attempt can send it again.
    ///
    /// As soon as the RPC is committed, or the request is larger than the limit, only what has not been sent is kept.
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
        /// The number of parts that the current attempt has taken.
        private var taken = 0
        /// The largest number of parts that any attempt has taken.
        private(set) var furthest = 0
        /// Whether the request can be sent again from its beginning.
        private(set) var isReplayable = true
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
            // gRPC frames each message with five bytes: so empty messages count too.
            if case .message(let bytes) = part { size = size.addingReportingOverflow(bytes.count + 5).partialValue }
            if size > limit { commit() }
        }

        mutating func finish(_ end: End) { self.end = self.end ?? end }

        /// What the current attempt is to send next; nil if the caller has not written it yet.
        mutating func next() -> Step? {
            guard taken < count else { return end.map(Step.end) }
            let part = parts[taken - dropped]
            taken += 1
            furthest = max(furthest, taken)
            if !isReplayable { dropTaken() }
            return .part(part)
        }

        /// A further attempt begins.
        mutating func rewind() { if isReplayable { taken = 0 } }

        /// There is no further attempt after this.
        mutating func commit() {
            isReplayable = false
            dropTaken()
        }

        private mutating func dropTaken() {
            parts.removeFirst(taken - dropped)
            dropped = taken
        }
    }
#endif
