#if Hummingbird && AsyncHTTPClient
    import AsyncHTTPClient
    import HTTPTypes
    import Hummingbird
    import NIOCore
    import Resilience
    import ResilienceAsyncHTTPClient
    import ResilienceHummingbird
    import TestSupport
    import Testing

    /// A request that is passed on to another service.
    @Suite(.timeLimit(.minutes(20)), .responsive) struct PassingTests {
        /// What the other service saw of a request through a gateway.
        private func seen(
            _ head: String, body: String = "", upTo maxBody: Int = 100, query: String = "",
            asking: String = "a=1&b=%20", telling: Bool = false
        ) async throws -> Answer {
            let client = HTTPClient.shared.resilient(Pipeline("upstream") {})
            let other = Router()
            other.on("/seen", method: .post) { request, _ in
                let fields = request.headers.map { "\($0.name.canonicalName): \($0.value)" }
                let body = String(buffer: try await request.body.collect(upTo: 1_000))
                return "\(request.uri.query ?? "-")\n\(fields.joined(separator: "\n"))\n\(body)"
            }
            return try await other.live { behind in
                let router = Router(context: AddressRequestContext.self)
                router.on("/", method: .post) { request, context in
                    let asked = try await HTTPClientRequest(
                        passing: request, to: "http://127.0.0.1:\(behind)/seen\(query)", upTo: maxBody,
                        from: telling ? context.remoteAddress : nil)
                    return Response(passing: try await client.execute(asked))
                }
                return try await router.live { port in
                    try await withConnection(to: port) { inbound, outbound in
                        let length = "content-length: \(body.utf8.count)\r\n"
                        try await outbound.write(
                            ByteBuffer(string: "POST /?\(asking) HTTP/1.1\r\nhost: here\r\n\(length)\(head)\r\n\(body)")
                        )
                        // The body is passed on unchanged, so it comes in chunks.
                        let text = try await inbound.text(upTo: "\r\n0\r\n\r\n")
                        let content = text.firstRange(of: "\r\n\r\n").map { text[$0.upperBound...] } ?? ""
                        let code = text.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
                        return Answer(status: HTTPResponse.Status(code: code), headers: [:], body: String(content))
                    }
                }
            }
        }

        @Test("method, query, fields and body are passed on, but not the connection's fields")
        func passed() async throws {
            let head = """
                Connection: keep-alive, X-Hop ,\tx-other\r
                X-Hop: 1\r
                X-Other: 1\r
                Keep-Alive: timeout=5\r
                TE: trailers\r
                Proxy-Authorization: secret\r
                Accept-Encoding: gzip\r
                Range: bytes=0-1\r
                Authorization: mine\r
                Idempotency-Key: k1\r
                X-Two: a\r
                X-Two: b\r
                X-Forwarded-For: 192.0.2.1\r

                """
            let answer = try await seen(head, body: "a body")
            #expect(answer.status == .ok)
            let lines = answer.body.split(whereSeparator: \.isNewline).map(String.init)
            let named = lines.filter { $0.contains(": ") }.sorted()
            #expect(
                named == [
                    // The HTTP client adds this field, because it decompresses the answer itself.
                    "accept-encoding: deflate, gzip",
                    "authorization: mine", "content-length: 6", "idempotency-key: k1", "x-forwarded-for: 192.0.2.1",
                    "x-two: a", "x-two: b",
                ])
            #expect(lines.contains("a=1&b=%20") && lines.contains("a body"))
        }

        @Test(
            "the other service reads a query as the same values, even with characters that browsers don't escape",
            arguments: [
                ("a=%20&b[]=|", "a=%20&b%5B%5D=%7C"), ("a=%2f&b=%zz&c=%", "a=%2f&b=%25zz&c=%25"),
                (#"%41"<>^`{}\"#, "%41%22%3C%3E%5E%60%7B%7D%5C"),
                ("q=a/b?c:@!$&'()*+,;=-._~", "q=a/b?c:@!$&'()*+,;=-._~"),
            ])
        func queries(asked: String, passed: String) async throws {
            let answer = try await seen("", asking: asked)
            #expect(answer.body.split(whereSeparator: \.isNewline).contains { $0.hasSuffix(passed) })
        }

        @Test("the URL's own query comes first, and the client's address last")
        func ownQuery() async throws {
            let answer = try await seen("X-Forwarded-For: 192.0.2.1\r\n", query: "?own", telling: true)
            #expect(answer.body.contains("own\n") && !answer.body.contains("a=1"))
            #expect(answer.body.contains("x-forwarded-for: 192.0.2.1\nx-forwarded-for: 127.0.0.1"))
        }
    }

    extension PassingTests {
        @Test("a body above the limit is a 413, and the other service is not called")
        func tooLong() async throws {
            let router = Router()
            router.add(middleware: CallFailureMiddleware())
            router.on("/", method: .get) { request, _ in
                let asked = try await HTTPClientRequest(passing: request, to: "http://127.0.0.1:1/", upTo: 3)
                return Response(passing: try await HTTPClient.shared.execute(asked, timeout: .seconds(60)))
            }
            let answer = try await router.live { port in
                try await withConnection(to: port) { inbound, outbound in
                    try await outbound.write(
                        ByteBuffer(string: "GET / HTTP/1.1\r\nhost: here\r\ncontent-length: 4\r\n\r\nbody"))
                    return try await inbound.answer(to: .get)
                }
            }
            #expect(answer.status == .contentTooLarge)
        }
    }
#endif
