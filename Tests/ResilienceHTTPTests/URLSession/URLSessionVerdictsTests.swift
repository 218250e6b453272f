#if canImport(Foundation)
    import Foundation
    import Resilience
    import ResilienceHTTP
    import ResilienceTesting
    import Testing

    #if canImport(FoundationNetworking)
        import FoundationNetworking
    #endif

    private let get = RequestSemantics(method: "GET")
    private let post = RequestSemantics(method: "POST")

    @Suite struct URLSessionVerdictsTests {
        @Test(
            "a request that never reached a server is retried with any method",
            arguments: [
                .notConnectedToInternet, .cannotFindHost, .cannotConnectToHost, .dnsLookupFailed, .dataNotAllowed,
                .internationalRoamingOff, .callIsActive,
            ] as [URLError.Code])
        func offline(code: URLError.Code) {
            #expect(URLError(code).isOffline)
            #expect(URLError(code).verdict(for: get) == .transient)
            #expect(URLError(code).verdict(for: post) == .transient)
        }

        @Test(
            "a request that may have reached a server is retried only if it is repeatable",
            arguments: [
                .networkConnectionLost, .timedOut, .secureConnectionFailed, .badServerResponse, .cannotParseResponse,
                .unknown,
            ] as [URLError.Code])
        func lost(code: URLError.Code) {
            #expect(!URLError(code).isOffline)
            #expect(URLError(code).verdict(for: get) == .transient)
            #expect(URLError(code).verdict(for: post) == .uncertain)
            #expect(
                URLError(code).verdict(for: RequestSemantics(method: "POST", hasIdempotencyKey: true)) == .transient)
        }

        @Test(
            "a failure that would repeat itself is permanent",
            arguments: [
                .serverCertificateUntrusted, .serverCertificateHasBadDate, .serverCertificateHasUnknownRoot,
                .serverCertificateNotYetValid, .clientCertificateRejected, .clientCertificateRequired, .badURL,
                .unsupportedURL, .httpTooManyRedirects, .redirectToNonExistentLocation, .userAuthenticationRequired,
                .cannotDecodeContentData, .fileDoesNotExist, .dataLengthExceedsMaximum, .cancelled,
            ] as [URLError.Code])
        func permanent(code: URLError.Code) {
            #expect(!URLError(code).isOffline)
            #expect(URLError(code).verdict(for: get) == .permanent)
        }

        @Test("a response is classified by its status and fields, in upper or lower case")
        func response() throws {
            let response = try makeResponse(503, ["retry-AFTER": "12"])
            #expect(response.verdict(for: post) == .transient(retryAfter: .seconds(12)))
            #expect(try makeResponse(500, [:]).verdict(for: get) == .transient)
            #expect(try makeResponse(500, [:]).verdict(for: post) == .uncertain)
            #expect(try makeResponse(403, [:]).verdict(for: get, remark: .rateLimited) == .throttled)
            let dated = try makeResponse(429, ["Retry-After": "Sun, 06 Nov 1994 08:49:37 GMT"])
            #expect(dated.verdict(for: get, now: 784_111_770) == .throttled(retryAfter: .seconds(7)))
        }

        @Test("a request's method and key are read from it")
        func request() throws {
            var request = URLRequest(url: try #require(URL(string: "https://example.com")))
            #expect(RequestSemantics(request) == RequestSemantics(method: "GET"))
            request.httpMethod = "POST"
            #expect(RequestSemantics(request) == RequestSemantics(method: "POST"))
            request.setValue(" ", forHTTPHeaderField: "idempotency-key")
            #expect(RequestSemantics(request) == RequestSemantics(method: "POST"))
            request.setValue("8e03978e", forHTTPHeaderField: "idempotency-key")
            #expect(RequestSemantics(request) == RequestSemantics(method: "POST", hasIdempotencyKey: true))
        }

        @Test("a POST that timed out is uncertain, and a GET is transient (P18)")
        func timedOut() {
            let error = TimedOut(policy: "attempt", limit: .seconds(1), underlying: CancellationError())
            #expect(Classifier.urlSession(for: post).verdict(for: error) == .uncertain)
            #expect(Classifier.urlSession(for: RequestSemantics(method: "GET")).verdict(for: error) == .transient)
        }

        @Test("a pipeline's classifier knows a lost POST, and leaves other errors to the standard classifier")
        func classifier() {
            struct Other: Error {}
            #expect(Classifier.standard.verdict(for: URLError(.timedOut)) == .uncertain)
            #expect(Classifier.urlSession(for: post).verdict(for: URLError(.timedOut)) == .uncertain)
            #expect(Classifier.urlSession(for: post).verdict(for: URLError(.cannotConnectToHost)) == .transient)
            #expect(Classifier.urlSession(for: post).verdict(for: Other()) == .uncertain)
            let error = HTTPStatusError(status: 404, verdict: .permanent)
            #expect(Classifier.urlSession(for: get).verdict(for: error) == .permanent)
        }

        @Test(
            "a failed request without further information tells whether a server may have acted on it (P75)"
        )
        func byItself() {
            let standard = Classifier.standard
            for (code, verdict) in [
                (.cannotConnectToHost, .transient), (.cannotFindHost, .transient),
                (.notConnectedToInternet, .transient),
                (.networkConnectionLost, .uncertain), (.timedOut, .uncertain),
                (.serverCertificateUntrusted, .permanent),
            ] as [(URLError.Code, Verdict)] {
                #expect(standard.verdict(for: URLError(code)) == verdict, "\(code)")
            }
            for (code, verdict) in [
                (.ECONNREFUSED, .transient), (.EMFILE, .transient), (.ECONNRESET, .uncertain), (.EPIPE, .uncertain),
                (.EACCES, .permanent),
            ] as [(POSIXErrorCode, Verdict)] {
                #expect(standard.verdict(for: POSIXError(code)) == verdict, "\(code)")
            }
        }

        @Test("a call's thrown errors and returned responses are classified alike, in any pipeline (P75)")
        func sameSemantics() async throws {
            func attempts(
                _ options: RunOptions, isIdempotent: Bool? = nil, _ first: Result<URLResponse, any Error>
            ) async throws -> Int {
                let answers = ScriptedOperation<Void, URLResponse>(
                    [first], fallback: .success(try makeResponse(200, [:])))
                let pipeline = Pipeline(isIdempotent: isIdempotent) { Retry(maxRetries: 1, backoff: .none) }
                let semantics = options == RunOptions(for: get) ? get : post
                _ = try? await pipeline.run(options: options, judging: { $0.verdict(for: semantics) }) {
                    try await answers()
                }
                return answers.callCount
            }
            struct Unknown: Error {}
            let failures: [any Error] = [
                URLError(.networkConnectionLost), POSIXError(.ECONNRESET), Unknown(),
                TimedOut(policy: "attempt", limit: .seconds(1), underlying: nil),
            ]
            for failure in failures {
                for isIdempotent in [nil, true] as [Bool?] {
                    #expect(
                        try await attempts(RunOptions(for: get), isIdempotent: isIdempotent, .failure(failure)) == 2)
                    #expect(
                        try await attempts(RunOptions(for: post), isIdempotent: isIdempotent, .failure(failure)) == 1)
                }
            }
            for isIdempotent in [nil, true] as [Bool?] {
                let lost = try makeResponse(500, [:])
                #expect(try await attempts(RunOptions(for: get), isIdempotent: isIdempotent, .success(lost)) == 2)
                #expect(try await attempts(RunOptions(for: post), isIdempotent: isIdempotent, .success(lost)) == 1)
                let refused = URLError(.cannotConnectToHost)
                #expect(try await attempts(RunOptions(for: post), isIdempotent: isIdempotent, .failure(refused)) == 2)
            }
        }

        @Test("URLSession's return value is classified without a cast; a response outside HTTP is a success")
        func pairs() async throws {
            let url = try #require(URL(string: "https://example.com"))
            let file = URLResponse(url: url, mimeType: nil, expectedContentLength: 0, textEncodingName: nil)
            let answers = ScriptedOperation<Void, URLResponse>([
                .success(try makeResponse(503, [:])), .success(try makeResponse(200, [:])), .success(file),
            ])
            let session: @Sendable () async throws -> (Data, URLResponse) = { (Data(), try await answers()) }
            let retry = Retry(maxRetries: 3, backoff: .none)
            let (_, response) = try await retry.run(judging: { $0.1.verdict(for: get) }) { try await session() }
            #expect((response as? HTTPURLResponse)?.statusCode == 200 && answers.callCount == 2)
            _ = try await retry.run(judging: { $0.1.verdict(for: get) }) { try await session() }
            #expect(answers.callCount == 3)
        }

        private func makeResponse(_ status: Int, _ fields: [String: String]) throws -> HTTPURLResponse {
            let url = try #require(URL(string: "https://example.com"))
            return try #require(
                HTTPURLResponse(url: url, statusCode: status, httpVersion: "HTTP/1.1", headerFields: fields))
        }
    }
#endif
