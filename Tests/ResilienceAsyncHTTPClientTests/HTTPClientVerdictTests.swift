#if AsyncHTTPClient
    import AsyncHTTPClient
    import Foundation
    import NIOCore
    import NIOHTTP1
    import NIOSSL
    import Resilience
    import TestSupport
    import Testing

    @testable import ResilienceAsyncHTTPClient
    import ResilienceHTTP

    @Suite(.timeLimit(.minutes(20)), .responsive) struct HTTPClientVerdictTests {
        private static let source = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
            .appending(path: ".build/checkouts/async-http-client/Sources/AsyncHTTPClient/HTTPClient.swift")

        /// The codes of the library's errors are private and can't be listed, so this test reads the source. It is in
        /// the build folder, unless the build uses another one.
        @Test(
            "every HTTPClientError of the library has a verdict, and the table has no other errors",
            .enabled(if: FileManager.default.fileExists(atPath: source.path)))
        func complete() throws {
            let text = try String(contentsOf: Self.source, encoding: .utf8)
            let codes = try #require(text.firstMatch(of: /private enum Code: Equatable \{([\s\S]*?)\n    \}/)).output.1
            let cases = codes.matches(of: /case (\w+)/).map { String($0.output.1) }
            #expect(cases.count > 30)
            let texts = text.matches(of: /case \.(\w+)[^:\n]*:\s*return\s*"([^"]*)"/).reduce(into: [:]) {
                $0[String($1.output.1)] = String($1.output.2)
            }
            for name in cases where name != "internalStateFailure" {
                let text = try #require(texts[name], "\(name) has no short description")
                #expect(RequestFailure.byShortDescription[text] != nil, "\(name) (\(text)) has no verdict")
            }
            #expect(RequestFailure.byShortDescription.count == cases.count - 1)
        }

        private static let statuses: [(error: any Error, status: Int)] = [
            (HTTPClientError.readTimeout, 504), (HTTPClientError.deadlineExceeded, 504),
            (IOError(errnoCode: ETIMEDOUT, reason: ""), 504), (ChannelError.connectTimeout(.seconds(1)), 504),
            (HTTPClientError.remoteConnectionClosed, 502), (HTTPClientError.redirectLimitReached, 502),
            (HTTPClientError.redirectCycleDetected, 502), (HTTPClientError.proxyAuthenticationRequired, 502),
            (HTTPClientError.serverOfferedUnsupportedApplicationProtocol("h9"), 502),
            (IOError(errnoCode: ECONNRESET, reason: ""), 502), (IOError(errnoCode: ECONNREFUSED, reason: ""), 502),
            (ChannelError.ioOnClosedChannel, 502), (HTTPParserError.invalidConstant, 502),
            (NIOSSLError.uncleanShutdown, 502), (NIOSSLExtraError.failedToValidateHostname, 502),
            (BoringSSLError.zeroReturn, 502),
            // A path in the file system without a server.
            (IOError(errnoCode: ENOENT, reason: ""), 502),
            (HTTPClientError.invalidURL, 500), (HTTPClientError.alreadyShutdown, 500),
            (HTTPClientError.bodyLengthMismatch, 500),
        ]

        @Test(
            "a server answers an exchange's error like the error of a call to another service, and timeouts with 504",
            arguments: statuses.indices)
        func upstream(index: Int) {
            let (error, status) = Self.statuses[index]
            let named = ExchangeFailed.naming(error)
            #expect(FailureResponse(upstream: CallFailure(named)).status == status)
            #expect(named is HTTPClientError || (named as? ExchangeFailed) != nil)
            #expect(verdict(named) == verdict(error))
            // Naming the host twice equals naming it once.
            #expect("\(ExchangeFailed.naming(named))" == "\(named)")
        }

        @Test("the caller's own errors, and errors outside the exchange, keep their types")
        func own() {
            let errors: [any Error] = [
                IOError(errnoCode: EMFILE, reason: ""), EventLoopError.shutdown, NIOSSLError.failedToLoadCertificate,
                SocketAddressError.unsupported, CancellationError(), DeadlinePassed(),
                HTTPStatusError(status: 500, verdict: .transient),
            ]
            for error in errors { #expect(type(of: ExchangeFailed.naming(error)) == type(of: error)) }
        }

        @Test("the table gives each error of the client its verdict for a GET and for a POST")
        func clientErrors() {
            let expected: [(HTTPClientError, get: Verdict, post: Verdict)] = [
                (.connectTimeout, .transient, .transient), (.getConnectionFromPoolTimeout, .rejected, .rejected),
                (.tlsHandshakeTimeout, .transient, .transient), (.socksHandshakeTimeout, .transient, .transient),
                (.httpProxyHandshakeTimeout, .transient, .transient), (.invalidProxyResponse, .transient, .transient),
                (.readTimeout, .transient, .uncertain), (.writeTimeout, .transient, .uncertain),
                (.remoteConnectionClosed, .transient, .uncertain), (.deadlineExceeded, .transient, .uncertain),
                (.cancelled, .transient, .uncertain), (.requestStreamCancelled, .transient, .uncertain),
                (.internalStateFailure(), .transient, .uncertain), (.invalidURL, .permanent, .permanent),
                (.unsupportedScheme("gopher"), .permanent, .permanent), (.alreadyShutdown, .permanent, .permanent),
                (.invalidHeaderFieldNames(["a b"]), .permanent, .permanent),
                (.serverOfferedUnsupportedApplicationProtocol("h9"), .permanent, .permanent),
                (.redirectLimitReached, .permanent, .permanent), (.bodyLengthMismatch, .permanent, .permanent),
                (.proxyAuthenticationRequired, .permanent, .permanent),
            ]
            for (error, get, post) in expected {
                #expect(verdict(error) == get, "\(error)")
                #expect(verdict(error, "POST") == post, "\(error)")
            }
        }

        @Test("errors of lower libraries mean that the request was not sent, may have been sent, or fails permanently")
        func lowerErrors() {
            let expected: [(any Error, RequestFailure?)] = [
                (IOError(errnoCode: ECONNREFUSED, reason: "connect"), .notSent),
                (IOError(errnoCode: ENOENT, reason: "connect"), .notSent),
                (IOError(errnoCode: ECONNRESET, reason: "read"), .mayHaveBeenSent),
                (IOError(errnoCode: EPIPE, reason: "write"), .mayHaveBeenSent),
                (IOError(errnoCode: ETIMEDOUT, reason: "read"), .mayHaveBeenSent),
                (IOError(errnoCode: EPERM, reason: "connect"), .permanent),
                (IOError(errnoCode: 0, reason: ""), .mayHaveBeenSent),
                (ChannelError.connectTimeout(.seconds(1)), .notSent), (ChannelError.eof, .mayHaveBeenSent),
                (ChannelError.ioOnClosedChannel, .mayHaveBeenSent), (EventLoopError.shutdown, .permanent),
                (SocketAddressError.unsupported, .permanent), (HTTPParserError.headerOverflow, .mayHaveBeenSent),
                (NIOSSLError.handshakeFailed(.zeroReturn), .notSent),
                (NIOSSLError.unableToValidateCertificate, .permanent),
                (NIOSSLError.uncleanShutdown, .mayHaveBeenSent), (BoringSSLError.syscallError, .mayHaveBeenSent),
                (NIOSSLExtraError.failedToValidateHostname, .permanent), (CancellationError(), .mayHaveBeenSent),
                (TimedOut(policy: "t", limit: .seconds(1), underlying: nil), .mayHaveBeenSent),
                (TimedOut(policy: "t", limit: .seconds(1), underlying: DeadlinePassed()), .notSent),
                (Unknown(), nil),
            ]
            for (error, failure) in expected { #expect(RequestFailure(error) == failure, "\(error)") }
            #expect(verdict(Unknown()) == nil)
        }

        @Test("in any pipeline, errors tell whether a server may have acted on the request (P75)")
        func byThemselves() {
            for (error, verdict) in [
                (HTTPClientError.connectTimeout, .transient), (HTTPClientError.remoteConnectionClosed, .uncertain),
                (HTTPClientError.deadlineExceeded, .uncertain), (HTTPClientError.invalidURL, .permanent),
                (IOError(errnoCode: ECONNREFUSED, reason: "connect"), .transient),
                (IOError(errnoCode: ECONNRESET, reason: "read"), .uncertain),
                (ChannelError.connectTimeout(.seconds(1)), .transient), (ChannelError.ioOnClosedChannel, .uncertain),
            ] as [(any Error, Verdict)] {
                #expect(Classifier.standard.verdict(for: error) == verdict, "\(error)")
            }
        }

        @Test(
            "a classifier for one kind of request uses the same table, and leaves other errors to the standard classifier"
        )
        func classifier() {
            let classifier = Classifier.asyncHTTPClient(for: RequestSemantics(method: "POST"))
            #expect(classifier.verdict(for: HTTPClientError.readTimeout) == .uncertain)
            #expect(classifier.verdict(for: HTTPClientError.connectTimeout) == .transient)
            #expect(classifier.verdict(for: Unknown()) == .uncertain)
        }

        @Test("a request is repeatable by its method, or by an idempotency key that is not blank")
        func semantics() {
            var request = HTTPClientRequest(url: "http://127.0.0.1/")
            #expect(RequestSemantics(request).isRepeatable)
            request.method = .POST
            #expect(!RequestSemantics(request).isRepeatable)
            request.headers.add(name: "idempotency-key", value: " \t")
            #expect(!RequestSemantics(request).isRepeatable)
            request.headers.replaceOrAdd(name: "Idempotency-Key", value: "8e03")
            #expect(RequestSemantics(request).isRepeatable)
            request.method = .RAW(value: "get")
            request.headers = [:]
            #expect(!RequestSemantics(request).isRepeatable)
        }

        @Test("a response's fields are found in any letter case; fields of one name form one list")
        func responses() {
            let get = RequestSemantics(method: "GET")
            let limited = HTTPClientResponse(
                status: .tooManyRequests, headers: ["retry-AFTER": "7"], body: .init(), history: [])
            #expect(limited.verdict(for: get) == .throttled(retryAfter: .seconds(7)))
            let twice = HTTPClientResponse(
                status: .tooManyRequests, headers: ["Retry-After": "7", "retry-after": "9"], body: .init(), history: [])
            #expect(twice.verdict(for: get) == .throttled)
            let odd = HTTPClientResponse(status: .custom(code: .max, reasonPhrase: ""), body: .init(), history: [])
            #expect(odd.verdict(for: get) == .transient)
            let conflict = HTTPClientResponse(status: .conflict, body: .init(), history: [])
            #expect(
                conflict.verdict(for: RequestSemantics(method: "POST", hasIdempotencyKey: true), remark: .inFlight)
                    == .transient)
        }

        private struct Unknown: Error {}

        private func verdict(_ error: any Error, _ method: String = "GET") -> Verdict? {
            Verdict(asyncHTTPClientError: error, for: RequestSemantics(method: method))
        }
    }
#endif
