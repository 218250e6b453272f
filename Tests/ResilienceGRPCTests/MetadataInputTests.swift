#if GRPC
    import GRPCCore
    import GRPCInProcessTransport
    import Resilience
    import ResilienceGRPC
    import ResilienceTesting
    import TestSupport
    import Testing

    /// Huge or malformed metadata, through the pipelines of a client and a server.
    ///
    /// No negative `grpc-timeout` is sent here: a server of grpc-swift-2 (2.4.3) traps on it, before any interceptor.
    @Suite(.responsive) struct MetadataInputTests {
        let clock = ManualClock()
        let bulkhead: Bulkhead
        let served: Bulkhead

        init() {
            bulkhead = Bulkhead(limit: 4, timeBase: clock)
            served = Bulkhead("served", limit: 4, timeBase: clock)
        }

        /// Afterwards no permit may be in use on either side, and no stream open.
        private func serve<R: Sendable>(
            _ handler: @escaping Handler, options: RunOptions = RunOptions(),
            _ body: @escaping @Sendable (FaultyClient) async throws -> R
        ) throws -> R {
            let pipeline = Pipeline("client", timeBase: clock) {
                Retry(maxRetries: 1, backoff: .constant(.seconds(1)))
                bulkhead
            }
            let limits = Pipeline("server", timeBase: clock) { served }
            let (result, _) = try clock.run {
                try await withFaults(
                    [.none], handler, interceptors: [PipelineServerInterceptor(through: limits)], through: pipeline,
                    options: options
                ) { client, _ in try await body(client) }
            }
            #expect(bulkhead.status.inUse == 0 && served.status.inUse == 0)
            return result
        }

        @Test("metadata of any size and content pass in both directions, with each attempt", arguments: strange)
        func passed(_ metadata: Metadata) throws {
            let echo: Handler = { request, _ in
                let received = request.metadata
                return TextResponse(metadata: received) { writer in
                    try await writer.write("x")
                    return received
                }
            }
            let script = Script(fail(.unavailable, metadata), echo)
            let received = try serve(script.handle) { client in
                try await client.unary(
                    request: ClientRequest(message: "a", metadata: metadata), descriptor: method, serializer: Text(),
                    deserializer: Text(), options: .defaults
                ) { response -> [Metadata] in
                    _ = try response.message
                    return [response.metadata, response.trailingMetadata]
                }
            }
            let all = script.visits.map(\.metadata) + received
            #expect(all.count == 4)
            for var each in all {
                each.removeAllValues(forKey: "grpc-previous-rpc-attempts")
                #expect(each == metadata)
            }
        }

        @Test("the caller gets an error's metadata, whatever their size and content", arguments: strange)
        func failed(_ metadata: Metadata) throws {
            let script = Script(fail(.notFound, metadata))
            let error = try serve(script.handle) { await $0.failure() }
            #expect(error?.code == .notFound && error?.metadata == metadata && script.visits.count == 1)
        }

        @Test("a pushback that is not a number stops the repeats, whatever its length", arguments: nonsense)
        func pushback(_ text: String) throws {
            let script = Script(fail(.unavailable, ["grpc-retry-pushback-ms": .string(text)]), answer("x"))
            let error = try serve(script.handle) { await $0.failure() }
            #expect(error?.code == .unavailable && script.visits.count == 1)
        }

        @Test("among a thousand pushbacks and timeouts the first counts")
        func thousand() throws {
            let pushbacks = many("grpc-retry-pushback-ms", first: "7000", then: "-1")
            let timeouts = many("grpc-timeout", first: "90S", then: "soon")
            let remaining: Handler = { _, _ in
                let text = "\(CallDeadline.current?.remaining.components.seconds ?? -1)"
                return TextResponse { writer in
                    try await writer.write(text)
                    return [:]
                }
            }
            let script = Script(fail(.unavailable, pushbacks), remaining)
            let start = clock.now
            let answer = try serve(script.handle) { try await $0.send(metadata: timeouts) }
            #expect(answer == "90" && clock.now == start + .seconds(7))
        }

        @Test("an unreadable timeout sets no deadline, whatever its length", arguments: nonsense)
        func timeout(_ text: String) throws {
            let handler: Handler = { _, _ in
                let isWithout = CallDeadline.current?.remaining == nil
                return TextResponse { writer in
                    try await writer.write("\(isWithout)")
                    return [:]
                }
            }
            let answer = try serve(handler) { try await $0.send(metadata: ["grpc-timeout": .string(text)]) }
            #expect(answer == "true")
        }

        @Test("a negative timeout sets no deadline", arguments: ["-1S", "-9999999H", "-0n", "-"])
        func negative(_ text: String) async throws {
            let interceptor = PipelineServerInterceptor(through: Pipeline("server", timeBase: clock) { served })
            let context = ServerContext(
                descriptor: method, remotePeer: "", localPeer: "", cancellation: ServerContext.RPCCancellationHandle())
            let request = TextRequest(single: ServerRequest(metadata: ["grpc-timeout": .string(text)], message: "a"))
            do {
                let response = try await interceptor.intercept(request: request, context: context) {
                    _, _ -> TextResponse in
                    #expect(CallDeadline.current?.remaining == nil)
                    return TextResponse { _ in [:] }
                }
                #expect(served.status.inUse == 1)
                _ = consume response
            }
            #expect(served.status.inUse == 0)
        }

        @Test("no negative timeout is written: a call whose time has passed is not sent")
        func passedAlready() throws {
            let script = Script(answer("x"))
            for time in [Duration.zero, .nanoseconds(-1), .seconds(-5), .seconds(-Int64.max)] {
                let travelling = try serve(script.handle) { client in
                    await CallDeadline(after: time, on: clock).run { await client.failure() }
                }
                let told = try serve(script.handle, options: RunOptions(deadline: clock.now + time)) {
                    await $0.failure()
                }
                #expect(travelling?.code == .deadlineExceeded && told?.code == .deadlineExceeded, "\(time)")
            }
            #expect(script.visits.isEmpty)
        }

        @Test("a deadline replaces the timeouts in the caller's metadata")
        func replaced() throws {
            let script = Script(answer("x"))
            _ = try serve(script.handle) { client in
                try await CallDeadline(after: .seconds(5), on: clock).run {
                    try await client.send(metadata: many("grpc-timeout", first: "soon", then: "90S"))
                }
            }
            #expect(script.visits.map { Array($0.metadata[stringValues: "grpc-timeout"]) } == [["5000000u"]])
        }
    }

    private let strange: [Metadata] = [
        ["large": .string(String(repeating: "x", count: 64 * 1024))],
        many("many", first: "x", then: ""),
        Metadata((0..<1000).map { (key: "key-\($0)", value: Metadata.Value.string("\($0)")) }),
        ["bytes-bin": .binary([UInt8](repeating: 0xff, count: 64 * 1024))],
        ["text": "\u{0}\r\n\u{7f}\u{1F4A5}", "": "without a name", "no good name": ""],
    ]

    private let nonsense = [
        String(repeating: "9", count: 64 * 1024), String(repeating: "x", count: 64 * 1024), "\u{0}\u{1}\u{2}",
        "\u{FFFD}\u{FFFD}", "\r\n", String(decoding: Array(UInt8.min...UInt8.max), as: UTF8.self), "1.5S", "0x10", "٣S",
    ]

    /// A thousand values of one key.
    private func many(_ key: String, first: String, then other: String) -> Metadata {
        Metadata((0..<1000).map { (key: key, value: Metadata.Value.string($0 == 0 ? first : other)) })
    }
#endif
