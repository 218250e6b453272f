#if Hummingbird
    import HTTPTypes
    import Hummingbird
    import NIOCore
    import Resilience
    import ResilienceHTTP
    import ResilienceHummingbird
    import ResilienceTesting
    import TestSupport
    import Testing

    @Suite(.timeLimit(.minutes(20)), .responsive) struct ThrottleMiddlewareTests {
        private let clock = ManualClock()

        private static let client = HTTPField.Name("client")!

        private func router(_ middleware: ThrottleMiddleware<BasicRequestContext>) -> Router<BasicRequestContext> {
            let router = Router()
            router.add(middleware: middleware)
            router.get("/") { _, _ in "served" }
            router.get("/http") { _, _ -> String in throw HTTPError(.conflict) }
            return router
        }

        private func middleware(
            _ limit: ThrottleLimit, maxKeys: Int = 10_000, observers: PolicyObservers? = nil
        ) -> ThrottleMiddleware<BasicRequestContext> {
            ThrottleMiddleware(limit: limit, maxKeys: maxKeys, timeBase: clock, observers: observers) { request, _ in
                request.headers[Self.client]
            }
        }

        @Test(
            "in a flood of requests, each client is served exactly its burst, and the others are told when to come back"
        )
        func volleyOverTheLimit() async throws {
            let recorder = EventRecorder()
            let middleware = middleware(.perMinute(6, burst: 5), observers: PolicyObservers(recorder))
            let responses = try await router(middleware).live { port in
                try await volley(40, to: port) { ("/", [Self.client: "client \($0 % 2)"]) }
            }
            #expect(responses.count { $0.status == .ok } == 10)
            let rejected = responses.filter { $0.status == .tooManyRequests }
            #expect(rejected.count == 30 && recorder.count(Throttle.Event.self) == 30)
            for response in rejected {
                #expect(response.headers[text: "retry-after"] == "10")
                #expect(response.headers[text: "ratelimit"] == #""requests";r=0;t=10"#)
                #expect(response.headers[text: "ratelimit-policy"] == #""requests";q=6;w=60"#)
                #expect(response.body.contains("\"status\":429"))
            }
            #expect(middleware.throttles.count == 2)
        }

        @Test("every response reports the remaining quota, which reads back unchanged")
        func told() async throws {
            let router = router(middleware(.perMinute(3, burst: 3)))
            try await router.live { [clock] port in
                for (uri, status, left) in [("/", 200, 2), ("/http", 409, 1), ("/nowhere", 404, 0), ("/", 429, 0)] {
                    let response = try await send(uri, to: port, headers: [Self.client: "a"])
                    #expect(response.status.code == status)
                    let quotas = RateLimitFields { response.headers[text: $0] }.quotas
                    #expect(quotas.map(\.remaining) == [left] && quotas.map(\.limit) == [3], "\(uri)")
                    #expect(quotas.first?.resetsAfter == (left == 0 ? .seconds(20) : nil))
                }
                clock.advance(by: .seconds(20))
                let response = try await send("/", to: port, headers: [Self.client: "a"])
                #expect(response.status == .ok)
            }
        }

        @Test("requests without a key share one limit, and middleware that reports nothing sends no fields")
        func anonymous() async throws {
            let middleware = ThrottleMiddleware<BasicRequestContext>(
                limit: .perMinute(1, burst: 2), tellsQuota: false, timeBase: clock
            ) { _, _ in nil }
            let responses = try await router(middleware).live { port in
                try await volley(6, to: port) { _ in ("/", [:]) }
            }
            #expect(responses.count { $0.status == .ok } == 2)
            #expect(responses.allSatisfy { $0.headers[text: "ratelimit"] == nil })
        }

        @Test("two limits are reported together")
        func two() async throws {
            let router = Router()
            for (name, limit) in [
                ("minute", ThrottleLimit.perMinute(60, burst: 60)), ("day", .slidingWindow(1, per: .seconds(86_400))),
            ] {
                router.add(middleware: ThrottleMiddleware(name, limit: limit, timeBase: clock) { _, _ in "client" })
            }
            router.get("/") { _, _ in "served" }
            let responses = try await router.live { try await [send("/", to: $0), send("/", to: $0)] }
            #expect(responses.map(\.status) == [.ok, .tooManyRequests])
            for (response, left) in zip(responses, [(59, 0), (58, 0)]) {
                let quotas = RateLimitFields { response.headers[text: $0] }.quotas
                #expect(quotas.first { $0.name == "minute" }?.remaining == left.0)
                #expect(quotas.first { $0.name == "day" }?.remaining == left.1)
            }
        }

        @Test("keys that clients invent use bounded memory, and don't disturb earlier clients")
        func manyKeys() async throws {
            let middleware = middleware(.perMinute(1, burst: 2), maxKeys: 100)
            try await router(middleware).live { port in
                let first = try await send("/", to: port, headers: [Self.client: "known"])
                #expect(first.status == .ok)
                _ = try await sequence(300, to: port) { [Self.client: "made up \($0)"] }
                #expect(middleware.throttles.count <= 100 + 64)
                let second = try await send("/", to: port, headers: [Self.client: "known"])
                #expect(second.status == .ok)
                let third = try await send("/", to: port, headers: [Self.client: "known"])
                #expect(third.status == .tooManyRequests)
            }
        }

        @Test("invented keys beyond the capacity share limits: a burst of them gains nothing")
        func overflow() async throws {
            let middleware = middleware(.perMinute(1, burst: 2), maxKeys: 10)
            let answers = try await router(middleware).live { port in
                try await sequence(250, to: port) { [Self.client: "\($0)"] }
            }
            let served = answers.count { $0.status == .ok }
            #expect(served <= 10 + 64 * 2 && served > 64)
        }

        @Test("idle keys make room for new ones")
        func idle() async throws {
            let middleware = middleware(.perMinute(60, burst: 1), maxKeys: 10)
            try await router(middleware).live { [clock] port in
                for round in 0..<20 {
                    for number in 0..<10 {
                        let response = try await send("/", to: port, headers: [Self.client: "\(round) \(number)"])
                        #expect(response.status == .ok)
                    }
                    clock.advance(by: .seconds(60))
                }
            }
            #expect(middleware.throttles.count <= 10)
        }

        @Test("huge and nonsensical keys work like others, and are not stored in full")
        func huge() async throws {
            let middleware = middleware(.perMinute(1))
            let keys = [
                "", " ", "\u{7f}", String(repeating: "a", count: 60_000), String(repeating: "a", count: 60_000) + "b",
                "a,b", "\"", "🔑",
            ]
            try await router(middleware).live { port in
                for key in keys {
                    // A blank key counts as none.
                    let (first, second) = try await (
                        send("/", to: port, headers: [Self.client: key]),
                        send("/", to: port, headers: [Self.client: key])
                    )
                    #expect(second.status == .tooManyRequests, "\(key.prefix(9))")
                    _ = first
                }
            }
            let kept = middleware.throttles.values.keys
            #expect(kept.allSatisfy { $0.utf8.count <= 128 })
            #expect(kept.count { $0.hasPrefix("#") } == 2)
        }

        @Test("bytes that are not a request stop at the server's parser")
        func nonsense() async throws {
            let middleware = middleware(.perMinute(1))
            try await router(middleware).live { port in
                for bytes in ["\0\0\0\0\r\n\r\n", "GET / HTTP/1.1\r\nclient\r\n\r\n", "GET  / HTTP/9.9\r\n\r\n"] {
                    try await withConnection(to: port) { inbound, outbound in
                        try await outbound.write(ByteBuffer(string: bytes))
                        let text = try? await inbound.text(upTo: "served")
                        #expect(text?.contains("served") != true)
                    }
                }
                let response = try await send("/", to: port)
                #expect(response.status == .ok)
            }
            #expect(middleware.throttles.count == 1)
        }
    }
#endif
