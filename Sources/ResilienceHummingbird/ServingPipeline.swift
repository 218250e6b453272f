#if Hummingbird
    import Hummingbird
    import Resilience

    /// A pipeline in two parts: the permit, which a request holds until its body has been written, and the timeouts,
    /// which end no later than the handler.
    struct ServingPipeline: Sendable {
        let pipeline: Pipeline
        /// The around policies before all others; nil if there are none. They also enclose the wait for the permit.
        private let outer: Pipeline?
        /// The other around policies; nil if there are none.
        private let inner: Pipeline?

        init(_ pipeline: Pipeline) {
            self.pipeline = pipeline
            guard !pipeline.policies(of: (any AroundPolicy).self).isEmpty else {
                (outer, inner) = (nil, nil)
                return
            }
            let first = pipeline.elements.prefix(while: Self.isAround)
            let others = pipeline.elements.dropFirst(first.count).filter(Self.isAround)
            outer = Self.part(Array(first), of: pipeline)
            inner = Self.part(others, of: pipeline)
        }

        private static func isAround(_ element: Pipeline.Element) -> Bool {
            !Pipeline { element }.policies(of: (any AroundPolicy).self).isEmpty
        }

        private static func part(_ elements: [Pipeline.Element], of pipeline: Pipeline) -> Pipeline? {
            elements.isEmpty ? nil : pipeline.part(elements)
        }

        /// A pipeline that ends the writing of a body after a time.
        func limit(ofBody limit: Duration) -> Pipeline {
            Self.part(Pipeline { Timeout("body", limit: limit) }.elements, of: pipeline) ?? pipeline
        }

        /// Gets the permit, and runs the handler.
        /// - Throws: ``HandlerError`` if the handler throws; any other error if the request was rejected, or cancelled
        ///   by a timeout.
        nonisolated(nonsending) func serve(
            _ stay: Stay, _ options: RunOptions, _ handler: nonisolated(nonsending) () async throws -> Response
        ) async throws -> Response {
            try await Self.run(outer, options) {
                let permit = try await pipeline.acquire(options: options)
                let deadline = permit.deadline
                stay.begin(permit)
                return try await Self.run(inner, options) {
                    do {
                        guard deadline != .distantFuture else { return try await handler() }
                        return try await CallDeadline(at: deadline, on: pipeline.timeBase).run(handler)
                    } catch {
                        throw HandlerError(base: error)
                    }
                }
            }
        }

        private nonisolated(nonsending) static func run(
            _ part: Pipeline?, _ options: RunOptions, _ inside: nonisolated(nonsending) () async throws -> Response
        ) async throws -> Response {
            guard let part else { return try await inside() }
            // The permit reports the end of the call.
            return try await part.runPart(options: options, inside)
        }
    }
#endif
