#if HTTPTypes
    import HTTPTypes
#endif
import Resilience
import ResilienceHTTP
import ResilienceTesting
import Testing

/// The code of HTTPServersGuide.md, unchanged, on a server of only two values.
private struct Request: Sendable {
    var path = "/"
    var headers: [String: String] = [:]
}

private struct Response: Sendable {
    var status = 200
    var headers: [String: String] = [:]
    var body = ""

    init(status: Int, body: String) {
        self.status = status
        self.body = body
    }
}

extension Response {
    init(_ failure: FailureResponse) {
        self.init(status: failure.status, body: failure.problem)
        for (name, value) in failure.fields { headers[name] = value }
    }
}

@Suite struct HTTPServersGuideExamples {
    private struct Server {
        let serving: Pipeline
        let catalog: Pipeline
        let client = Client()

        func respond(to request: Request) async -> Response {
            do {
                return try await serving.run { try await handle(request) }
            } catch {
                let failure = CallFailure(error)
                return Response(FailureResponse(rejecting: failure))
            }
        }

        func product(_ id: String) async throws -> Response {
            do {
                return try await catalog.run { try await client.product(id) }
            } catch {
                return Response(FailureResponse(upstream: CallFailure(error)))
            }
        }

        private func handle(_ request: Request) async throws -> Response { try await product(request.path) }
    }

    private struct Client {
        func product(_ id: String) async throws -> Response { Response(status: 200, body: id) }
    }

    @Test("a request's priority and attempt travel with its task")
    func origins() async throws {
        let request = Request(headers: ["priority": "u=5", "x-envoy-attempt-count": "2"])
        func handle(_ request: Request) async throws {
            #expect(CallOrigin.current?.priority == .low && CallOrigin.current?.attempt == 2)
        }
        let origin = OriginFields.standard.origin(atMost: .normal) {
            request.headers[$0]
        }
        try await origin.run { try await handle(request) }
    }

    @Test("an open circuit's answer shows whether the circuit is the service's own or the upstream's")
    func sides() async {
        let breaker = CircuitBreaker()
        breaker.setMode(.isolated)
        let closed = Pipeline { breaker }
        let open = Pipeline {}
        let own = await Server(serving: closed, catalog: open).respond(to: Request())
        let upstream = await Server(serving: open, catalog: closed).respond(to: Request())
        #expect(own.status == 503 && own.body.contains("The service is not available"))
        #expect(upstream.status == 503 && upstream.body.contains("A service that is needed"))
        let served = await Server(serving: open, catalog: open).respond(to: Request())
        #expect(served.status == 200)
    }

    @Test("the guide shows the written fields and body")
    func written() throws {
        let clock = ManualClock()
        let throttle = Throttle("requests", limit: .fixedWindow(100, per: .seconds(60)), timeBase: clock)
        try throttle.tryAcquire(options: RunOptions(cost: 100)).complete(.success)
        clock.advance(by: .seconds(30))
        var response = Response(status: 200, body: "")
        if let quota = throttle.quota {
            for (name, value) in RateLimitFields.fields(for: [quota]) { response.headers[name] = value }
        }
        #expect(response.headers["RateLimit-Policy"] == #""requests";q=100;w=60"#)
        #expect(response.headers["RateLimit"] == #""requests";r=0;t=30"#)
        let failure = CallFailure(ThrottleExceeded(policy: "requests", retryAfter: .seconds(30)))
        #expect(
            FailureResponse(rejecting: failure).problem
                == #"{"type":"about:blank","title":"Too Many Requests","status":429,"detail":"Too many requests were sent in a short time."}"#
        )
        #expect(HTTPServersGuideExamples.head(failure) == 429)
    }

    #if HTTPTypes
        private static func head(_ failure: CallFailure) -> Int { HTTPResponse(rejecting: failure).status.code }
    #else
        private static func head(_ failure: CallFailure) -> Int { FailureResponse(rejecting: failure).status }
    #endif
}
