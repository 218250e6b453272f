#if AsyncHTTPClient
    import AsyncHTTPClient
    import NIOCore
    import NIOPosix
    import Resilience
    @testable import ResilienceAsyncHTTPClient
    import ResilienceHTTP
    import TestSupport
    import Testing

    #if canImport(Darwin)
        import Darwin
    #elseif canImport(Glibc)
        import Glibc
    #elseif canImport(Musl)
        import Musl
    #endif

    /// What logs show of failed requests: status, code and host, but no path, query, field or credentials.
    @Suite(.timeLimit(.minutes(20))) struct FailureDetailsTests {

        @Test("the log texts of a 503, a refused connection and a lost connection differ, and name the host (P76)")
        func requests() async throws {
            try await withServer([.status(503), .close(after: "")]) { server, http in
                let told = Locked<[String]>([])
                let observers = PolicyObservers { event in
                    told.withLock { $0.append("\(event.detail.kind): \(event.failure?.description ?? "nothing")") }
                }
                let client = http.resilient(Pipeline("test", observers: observers) {})
                let host = "127.0.0.1:\(server.port)"
                _ = try await client.execute(get(server.url()))
                #expect(told.withLock { $0 } == ["attemptFailed: HTTP 503 at \(host)", "failed: HTTP 503 at \(host)"])
                told.withLock { $0 = [] }
                _ = try? await client.execute(get(server.url()))
                #expect(told.withLock { $0 }.last == "failed: HTTPClientError Remote connection closed at \(host)")
                _ = try? await client.execute(post(WireServer.nowhere))
                let last = try #require(told.withLock { $0 }.last)
                #expect(last.contains("ECONNREFUSED at 127.0.0.1:"))
            }
        }

        @Test("the error of a lost body names the host")
        func lostBody() async throws {
            try await withServer([.close(after: "HTTP/1.1 200 X\r\nContent-Length: 9\r\n\r\nhalf")]) { server, http in
                let last = Locked<FailureDetail?>(nil)
                let observers = PolicyObservers { event in last.withLock { $0 = event.failure } }
                let client = http.resilient(Pipeline("test", observers: observers) {})
                let response = try await client.execute(get(server.url()))
                await #expect(throws: (any Error).self) { try await response.text() }
                #expect(last.withLock { $0?.host } == "127.0.0.1:\(server.port)")
            }
        }

        @Test(
            "an error of the client or of SwiftNIO is logged as its code",
            arguments: [
                (HTTPClientError.readTimeout, "HTTPClientError Read timeout"),
                (HTTPClientError.unsupportedScheme("secret"), "HTTPClientError Unsupported scheme"),
                (IOError(errnoCode: ECONNRESET, reason: "secret"), "IOError ECONNRESET"),
                (
                    ExchangeFailed.naming(IOError(errnoCode: EPIPE, reason: "secret"), at: "a.example:1"),
                    "IOError EPIPE at a.example:1"
                ),
                (IOError(errnoCode: 12_345, reason: "secret"), "IOError errno 12345"),
                (ExchangeFailed(underlying: IOError(errnoCode: EPIPE, reason: "secret")), "IOError EPIPE"),
                (ChannelError.connectTimeout(.seconds(1)), "ChannelError connectTimeout"),
            ] as [(any Error, String)])
        func errors(error: any Error, text: String) {
            #expect(FailureDetail(of: error).description == text)
        }

        @Test(
            "the host shown for a URL has no credentials, and may be missing",
            arguments: [
                ("http://a.example:80/p?q=secret#f", "a.example:80"), ("https://name:secret@a.example", "a.example"),
                ("http://a@b@c.example?q", "c.example"), ("http://[::1]:9/", "[::1]:9"), ("http:///p", nil),
                ("http://", nil), ("a.example/p", nil), ("", nil), ("http://name:secret@/p", nil),
                ("http://name:secret@\u{301}a.example/p", "\u{301}a.example"),
                ("http://a.example:80?\u{301}secret=1", "a.example:80"),
                ("http://name:sec/ret@a.example", nil), ("http://name:sec?ret@a.example", nil),
                ("http://[::1]", "[::1]"),
                ("http://a.example/\u{301}secret", "a.example"), ("http://a.example#\u{301}secret", "a.example"),
            ] as [(String, String?)])
        func hosts(url: String, host: String?) {
            #expect(HTTPClientRequest.host(of: url) == host)
        }
    }
#endif
