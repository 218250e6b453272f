#if HTTPTypes
    import HTTPTypes
    import Resilience
    import ResilienceHTTP
    import ResilienceTesting
    import Testing

    private let get = RequestSemantics(method: "GET")

    @Suite struct HTTPTypesVerdictsTests {
        private func fields(_ pairs: KeyValuePairs<String, String>) throws -> HTTPFields {
            var fields = HTTPFields()
            for (name, value) in pairs {
                fields.append(HTTPField(name: try #require(HTTPField.Name(name)), value: value))
            }
            return fields
        }

        private func response(_ status: Int, _ pairs: KeyValuePairs<String, String> = [:]) throws -> HTTPResponse {
            HTTPResponse(status: .init(code: status), headerFields: try fields(pairs))
        }

        @Test("a response is classified by its status and fields, in any letter case")
        func verdicts() throws {
            #expect(try response(503, ["retry-AFTER": "12"]).verdict(for: get) == .transient(retryAfter: .seconds(12)))
            #expect(try response(500).verdict(for: get) == .transient)
            #expect(try response(500).verdict(for: RequestSemantics(method: "POST")) == .uncertain)
            #expect(try response(204).verdict(for: get) == .success)
            #expect(try response(0).verdict(for: get) == .transient)
            #expect(try response(200).verdict(for: get, remark: .means(.permanent)) == .permanent)
            let dated = try response(429, ["Retry-After": "Sun, 06 Nov 1994 08:49:37 GMT"])
            #expect(dated.verdict(for: get, now: 784_111_770) == .throttled(retryAfter: .seconds(7)))
            let limited = try response(429, ["X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "9"])
            #expect(limited.verdict(for: get, dialect: .gitHub).retryAfter == .seconds(9))
            #expect(limited.verdict(for: get, dialect: .ietf).retryAfter == nil)
        }

        @Test("a request's method and key are read from it")
        func semantics() {
            var request = HTTPRequest(method: .post, scheme: "https", authority: "example.com", path: "/")
            #expect(RequestSemantics(request) == RequestSemantics(method: "POST"))
            let name = HTTPField.Name("Idempotency-Key")
            for (value, hasKey) in [("", false), (" ", false), ("8e03978e", true)] {
                request.headerFields[name!] = value
                #expect(RequestSemantics(request) == RequestSemantics(method: "POST", hasIdempotencyKey: hasKey))
            }
            request.method = .get
            #expect(RequestSemantics(request).method == "GET")
        }

        @Test("several fields of one name form a list, and a list is not read as one value")
        func several() throws {
            let lists = try fields(["RateLimit": #""a";r=1;t=5"#, "ratelimit": #""b";r=0;t=7"#])
            #expect(RateLimitFields(lists).quotas.map(\.name) == ["a", "b"])
            #expect(RateLimitFields(lists).quotaWait == .seconds(7))
            #expect(RateLimitFields(lists, dialect: .gitHub).quotas == [])
            let waits = try fields(["Retry-After": "1", "Retry-After": "2"])
            #expect(RateLimitFields(waits).retryAfter == nil)
            #expect(try response(429, ["Retry-After": "1", "Retry-After": "2"]).verdict(for: get) == .throttled)
            let deadlines = try fields(["grpc-timeout": "1S", "Grpc-Timeout": "2S"])
            #expect(DeadlineField.grpc.deadline(of: deadlines) == nil)
        }

        @Test("a request's deadline is read from its fields")
        func deadline() throws {
            let clock = ManualClock()
            let request = try fields(["X-Envoy-Expected-Rq-Timeout-Ms": "250"])
            #expect(DeadlineField.standard.deadline(of: request, on: clock)?.remaining == .milliseconds(250))
            let limited = DeadlineField.standard.deadline(of: request, atMost: .milliseconds(100), on: clock)
            #expect(limited?.remaining == .milliseconds(100))
            #expect(DeadlineField.standard.deadline(of: [:], on: clock) == nil)
        }

        @Test(
            "an endpoint's key is read from scheme and authority",
            arguments: [
                ("example.com", "https://example.com"), ("Example.com:443", "https://example.com"),
                ("example.com:8443", "https://example.com:8443"), ("u:p@example.com", "https://example.com"),
                ("[::1]:80", "https://[::1]:80"), ("[::1]", "https://[::1]"), ("example.com:", "https://example.com"),
                ("example.com:x", "https://example.com"), ("a@b@c", "https://c"), ("", "https://"),
                ("@", "https://"), (":", "https://"), ("]", "https://]"),
                ("example.com:065535", "https://example.com:65535"), ("example.com:65536", "https://example.com"),
                ("example.com:-1", "https://example.com"), ("example.com:+8443", "https://example.com"),
            ])
        func endpoint(authority: String, expected: String) {
            let request = HTTPRequest(method: .get, scheme: "https", authority: authority, path: "/users/7?x=1")
            #expect("\(HTTPEndpoint(request))" == expected)
            #expect("\(HTTPEndpoint(request, template: "/users/{id}"))" == "\(expected)/users/{id}")
            let pipelines = HTTPEndpointRegistry { Pipeline.http("\($0)") }
            #expect(pipelines[request: request].name == expected)
        }

        @Test("a request without authority and scheme also has a key")
        func noAuthority() {
            let request = HTTPRequest(method: .get, scheme: nil, authority: nil, path: nil)
            #expect("\(HTTPEndpoint(request))" == "://")
        }
    }
#endif
