#if Hummingbird
    import Hummingbird
    import NIOCore
    import Resilience
    import ResilienceHTTP
    import ResilienceHummingbird
    import TestSupport
    import Testing

    /// The examples of ResilienceHummingbird's documentation, unchanged.
    @Suite(.timeLimit(.minutes(20)), .responsive) struct ResilienceHummingbirdExamples {
        @Test("three lines guard a server, and a fourth gives its requests a deadline")
        func adoption() async throws {
            let router = Router()
            let serving = Pipeline("serving") {
                Bulkhead(limit: 64, queue: 256, maxWait: .seconds(2))
            }
            @Sendable func clientID(_ request: Request) -> String? { ClientKey.forwarded(request) }
            router.add(middleware: CallFailureMiddleware())
            router.add(
                middleware: ThrottleMiddleware(limit: .perSecond(10, burst: 20)) { request, _ in clientID(request) })
            router.add(middleware: ResilienceMiddleware(serving))
            router.add(middleware: CallDeadlineMiddleware(default: .seconds(10), max: .seconds(60)))
            router.get("/") { _, _ in CallDeadline.current == nil ? "for ever" : "in time" }
            router.get("/failing") { _, _ -> String in throw HTTPStatusError(status: 500, verdict: .transient) }
            let responses = try await router.live { port in
                try await [send("/", to: port), send("/failing", to: port)]
            }
            #expect(responses.map(\.status) == [.ok, .badGateway] && responses[0].body == "in time")
            #expect(responses[0].headers[text: "ratelimit-policy"] == #""requests";q=20;w=2"#)
        }

        @Test("the two lines of the table of integrations guard a route")
        func readme() async throws {
            let router = Router()
            router.add(middleware: CallFailureMiddleware())
            router.add(middleware: ResilienceMiddleware(.server("api")))
            router.get("/") { _, _ in "served" }
            router.get("/failing") { _, _ -> String in throw HTTPStatusError(status: 500, verdict: .transient) }
            let responses = try await router.live { port in
                try await [send("/", to: port), send("/failing", to: port)]
            }
            #expect(responses.map(\.status) == [.ok, .badGateway])
        }

        @Test("a context that knows a request's source allows limits by address")
        func byAddress() async throws {
            let router = Router(context: AddressRequestContext.self)
            router.add(
                middleware: ThrottleMiddleware(limit: .perMinute(1)) { _, context in
                    ClientKey.address(context.remoteAddress)
                })
            router.get("/") { _, context in ClientKey.address(context.remoteAddress) ?? "nowhere" }
            let answers = try await router.live { port in
                [try await send("/", to: port), try await send("/", to: port)]
            }
            #expect(answers[0].body == "127.0.0.1" && answers[1].status == .tooManyRequests)
        }

        @Test("a custom context can know the connection, at the price of one more line")
        func byConnection() async throws {
            struct Context: ConnectionRequestContext {
                var coreContext: CoreRequestContextStorage
                let connection: any Channel

                init(source: Source) {
                    coreContext = .init(source: source)
                    connection = source.channel
                }
            }
            let router = Router(context: Context.self)
            router.add(middleware: CallFailureMiddleware())
            router.get("/") { _, context in "\(context.connection.isActive)" }
            let answer = try await router.live { port in try await send("/", to: port) }
            #expect(answer.body == "true")
        }

        private struct User {
            let id: String
        }

        private struct Context: RequestContext, RemoteAddressRequestContext {
            var coreContext: CoreRequestContextStorage
            let remoteAddress: SocketAddress?
            let user: User? = nil
            let tenant = "a"

            init(source: Source) {
                coreContext = .init(source: source)
                remoteAddress = source.channel.remoteAddress
            }
        }

        @Test("the context provides keys: an account, an address, a tenant")
        func keys() async throws {
            let router = Router(context: Context.self)
            let tenants = PipelineRegistry<String> { tenant in Pipeline(tenant) { Bulkhead(limit: 8) } }
            router.add(
                middleware:
                    ThrottleMiddleware(
                        limit: .perMinute(100),
                        response: { _, response in
                            var response = response
                            response.detail = "See https://example.com/limits"
                            return response
                        }
                    ) { request, context in context.user?.id }
            )
            let throttle =
                ThrottleMiddleware<Context>(limit: .perMinute(10)) { request, context in
                    ClientKey.address(context.remoteAddress)
                }
            router.add(middleware: throttle)
            router.add(
                middleware:
                    ResilienceMiddleware { request, context in tenants[context.tenant] }
            )
            router.get("/") { _, _ in "served" }
            // Enough requests that some are rejected on any slow machine.
            let responses = try await router.live { port in try await volley(200, to: port) { _ in ("/", [:]) } }
            #expect(responses.contains { $0.status == .ok })
            let rejected = responses.filter { $0.status == .tooManyRequests }
            #expect(rejected.contains { $0.body.contains("https://example.com/limits") })
            #expect(throttle.throttles.values.keys.allSatisfy { ["127.0.0.1", "0:0:0:0::/64"].contains($0) })
            #expect(tenants.count == 1)
        }
    }
#endif
