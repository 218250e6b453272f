#if Hummingbird
    import HTTPTypes
    import Hummingbird
    import Resilience
    import ResilienceHTTP
    import ResilienceTesting
    import TestSupport
    import Testing

    @testable import ResilienceHummingbird

    @Suite(.timeLimit(.minutes(20)), .responsive) struct CallDeadlineMiddlewareTests {
        private let clock = ManualClock()
        private let recorder = EventRecorder()

        private static let field = HTTPField.Name("x-envoy-expected-rq-timeout-ms")!

        private func router(
            default standard: Duration? = nil, max longest: Duration = .seconds(60)
        ) -> Router<BasicRequestContext> {
            let router = Router()
            router.add(
                middleware: CallDeadlineMiddleware(
                    default: standard, max: longest, timeBase: clock, observers: PolicyObservers(recorder)))
            router.get("/") { _, _ in CallDeadline.current.map { "\($0.remaining)" } ?? "none" }
            return router
        }

        @Test(
            "a request gets the time it asks for, up to the longest allowed time, or the default",
            arguments: [
                (nil, nil, nil), (nil, Duration.seconds(10), Duration.seconds(10)),
                ("1500", Duration.seconds(10), Duration.milliseconds(1500)), ("1500", nil, Duration.milliseconds(1500)),
                ("60001", nil, Duration.seconds(60)), ("99999999999999999999999", nil, Duration.seconds(60)),
                ("-1", nil, nil), ("+1", nil, nil), ("1.5", nil, nil), ("1, 2", nil, nil), ("٣", nil, nil),
                ("", nil, nil),
            ])
        func asked(value: String?, standard: Duration?, time: Duration?) async throws {
            let headers = value.map { [Self.field: $0] as HTTPFields } ?? [:]
            let router = router(default: standard)
            let response = try await router.live { try await send("/", to: $0, headers: headers) }
            #expect(response.body == time.map { "\($0)" } ?? "none")
        }

        @Test("a request whose time has run out does not reach its handler: 504, and an event")
        func over() async throws {
            let response = try await router().live { try await send("/", to: $0, headers: [Self.field: "0"]) }
            #expect(response.status == .gatewayTimeout && response.headers[text: "retry-after"] == nil)
            #expect(response.body.contains("The time for the request ran out."))
            #expect(recorder.events(of: CallDeadlineEvent.self) == [.passedBeforeHandler(asked: .zero)])
        }

        @Test("a deadline within the handler fails its call, and the request is answered with 504")
        func within() async throws {
            let pipeline = Pipeline(timeBase: clock) { Retry() }
            let router = Router()
            router.add(middleware: CallDeadlineMiddleware(default: .seconds(10), timeBase: clock))
            router.get("/") { _, _ in
                try await pipeline.run { try await Gate().pass() }
                return "served"
            }
            let response = try await router.live { [clock] port in
                async let response = send("/", to: port)
                await clock.waitForSleepers(1)
                clock.advance(by: .seconds(10))
                return try await response
            }
            #expect(response.status == .gatewayTimeout)
        }

        @Test("a call's timeout does not count as the request's timeout while the request has time left")
        func earlier() async throws {
            let router = Router()
            router.add(middleware: CallDeadlineMiddleware(default: .seconds(10), timeBase: clock))
            router.get("/") { _, _ -> String in throw TimedOut(policy: "call", limit: .seconds(1), underlying: nil) }
            let response = try await router.live { try await send("/", to: $0) }
            #expect(response.status == .internalServerError)
        }

        @Test("the earlier of two deadlines counts, and a request whose deadline has passed is rejected")
        func nested() async throws {
            let router = Router()
            router.add(middleware: CallDeadlineMiddleware(default: .seconds(2), timeBase: clock))
            router.add(
                middleware: CallDeadlineMiddleware(default: .seconds(1), timeBase: clock) { request, _ in
                    request.headers[Self.field].flatMap { Int($0) }.map { .seconds($0) }
                })
            router.get("/") { _, _ in "\(CallDeadline.current?.remaining ?? .zero)" }
            let texts = try await router.live { port in
                try await [send("/", to: port), send("/", to: port, headers: [Self.field: "3000"])].map(\.body)
            }
            #expect(texts == ["\(Duration.seconds(1))", "\(Duration.seconds(3))"])
        }

        @Test("20 000 values of the field are read as digits, or ignored")
        func fuzz() {
            var random = SeededGenerator(seed: 20_261_124)
            let alphabet = Array("0123456789 +-.,eEmx\u{0}٣")
            var read = 0
            // One expectation for all values: an expectation costs more than its comparison.
            var wrong: [String] = []
            for _ in 0..<20_000 {
                let length = Int.random(in: 0...24, using: &random)
                let digits = Bool.random(using: &random) ? 10 : alphabet.count
                let value = String((0..<length).map { _ in alphabet[Int.random(in: 0..<digits, using: &random)] })
                let fields: HTTPFields = [Self.field: value]
                // Without the surrounding spaces, which are not part of the value.
                let kept = fields[Self.field] ?? ""
                let time = deadline(from: fields)
                guard !kept.isEmpty, kept.allSatisfy({ "0123456789".contains($0) }) else {
                    if time != nil { wrong.append(value) }
                    continue
                }
                read += 1
                let (nanoseconds, isTooLong) = (Int64(kept) ?? .max).multipliedReportingOverflow(by: 1_000_000)
                let expected = Duration.nanoseconds(isTooLong ? Int64.max : nanoseconds)
                if time != expected { wrong.append(value) }
            }
            #expect(wrong == [])
            #expect(read > 5_000)
        }
    }
#endif
