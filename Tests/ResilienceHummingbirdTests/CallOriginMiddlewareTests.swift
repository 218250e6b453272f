#if Hummingbird
    import HTTPTypes
    import Hummingbird
    import Resilience
    import ResilienceHTTP
    import ResilienceHummingbird
    import ResilienceTesting
    import TestSupport
    import Testing

    @Suite(.timeLimit(.minutes(20)), .responsive) struct CallOriginMiddlewareTests {
        private static let priority = HTTPField.Name("priority")!
        private static let attempt = HTTPField.Name("x-envoy-attempt-count")!

        private func router(highest: CallPriority = .normal) -> Router<BasicRequestContext> {
            let router = Router()
            router.add(middleware: CallOriginMiddleware(highest: highest))
            router.add(middleware: CallFailureMiddleware())
            router.get("/") { _, _ in
                CallOrigin.current.map { "\($0.priority?.rawValue ?? 1) \($0.attempt)" } ?? "none"
            }
            return router
        }

        @Test(
            "a handler's task has its request's priority and attempt, within the client's limit",
            arguments: [
                ([:], "1 1"), ([priority: "u=5", attempt: "2"], "-64 2"), ([priority: "u=0"], "0 1"),
                ([priority: "?", attempt: "?"], "1 1"), ([attempt: "99999999999999999999"], "1 \(Int.max)"),
            ] as [(HTTPFields, String)])
        func travels(headers: HTTPFields, expected: String) async throws {
            let response = try await router().live { try await send("/", to: $0, headers: headers) }
            #expect(response.body == expected)
        }

        @Test("trusted clients may ask for more")
        func trusted() async throws {
            let response = try await router(highest: .high).live {
                try await send("/", to: $0, headers: [Self.priority: "u=0"])
            }
            #expect(response.body == "64 1")
        }

        @Test("a client is told not to retry only after its handler retried in vain")
        func advice() async throws {
            let retrying = Pipeline(timeBase: ManualClock()) { Retry(maxRetries: 2, backoff: .none) }
            let asked = Journal()
            let router = router()
            router.get("upstream") { _, _ -> String in
                try await retrying.run {
                    asked.note("asked")
                    throw HTTPStatusError(status: 503, verdict: .transient)
                }
            }
            let answers = try await router.live { port in
                var answers: [(String?, String?)] = []
                for headers in [[:], [Self.attempt: "2"], [Self.attempt: "3"]] as [HTTPFields] {
                    let answer = try await send("/upstream", to: port, headers: headers)
                    #expect(answer.status == .serviceUnavailable)
                    answers.append(
                        (answer.headers[text: "x-should-retry"], answer.headers[text: "x-envoy-overloaded"]))
                }
                return answers
            }
            #expect(answers.map(\.0) == ["false", nil, "false"] && answers.map(\.1) == ["true", nil, "true"])
            // Three attempts for the first request, and one for each repeat.
            #expect(asked.lines.count == 5)
        }

        @Test("requests wait in a bulkhead by their priorities")
        func bulkhead() async throws {
            let recorder = EventRecorder()
            let bulkhead = Bulkhead(limit: 1, queue: 9, order: .byPriority, observers: PolicyObservers(recorder))
            let router = Router()
            router.add(middleware: CallOriginMiddleware())
            router.add(middleware: ResilienceMiddleware(Pipeline { bulkhead }))
            let journal = Journal()
            router.get("/:name") { _, context in
                journal.note(context.parameters.get("name") ?? "")
                return "served"
            }
            try await router.live { port in
                let inside = try bulkhead.tryAcquire()
                async let low = send("/low", to: port, headers: [Self.priority: "u=5"])
                await recorder.waitForEvents(1)
                async let normal = send("/normal", to: port)
                await recorder.waitForEvents(2)
                inside.complete(.success)
                let statuses = try await [low.status, normal.status]
                #expect(statuses == [.ok, .ok])
            }
            #expect(journal.lines == ["normal", "low"])
        }
    }
#endif
