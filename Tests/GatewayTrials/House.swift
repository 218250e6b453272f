#if Gateway
    import AsyncHTTPClient
    import Foundation
    import Hummingbird
    import Logging
    import NIOCore
    import Resilience
    import ResilienceAsyncHTTPClient
    import ResilienceConfiguration
    import ResilienceDashboard
    import ResilienceHTTP
    import ResilienceHummingbird
    import ResilienceObservability
    import ResilienceTraffic

    /// The addresses of the two gateways, and who calls them.
    struct House {
        /// Without the toolkit, and with it.
        let gateways: [String]
        fileprivate let client: HTTPClient

        /// Requests per second of 16 clients that ask without a pause for half a second.
        func turn(at gateway: String) async throws -> Double {
            let start = ContinuousClock.now
            let end = start + .milliseconds(500)
            let requests = try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<16 {
                    group.addTask {
                        var count = 0
                        while ContinuousClock.now < end {
                            try await ask(gateway)
                            count += 1
                        }
                        return count
                    }
                }
                return try await group.reduce(0, +)
            }
            return Double(requests) / (start.duration(to: .now) / .seconds(1))
        }

        private func ask(_ gateway: String) async throws {
            let response = try await client.execute(HTTPClientRequest(url: gateway), timeout: .seconds(10))
            let body = try await response.body.collect(upTo: 4096)
            guard body.readableBytes == 9 else { throw Failed(status: "\(response.status)") }
        }
    }

    struct Failed: Error { let status: String }

    /// Starts the service and both gateways, and ends them.
    func withHouse<Result: Sendable>(_ body: @escaping @Sendable (House) async throws -> Result) async throws -> Result
    {
        let client = HTTPClient(configuration: .forPipelines(attempt: .seconds(1)))
        let result = try await withThrowingTaskGroup(of: Void.self) { group in
            let service = Router(context: AddressRequestContext.self)
            service.get("/") { _, _ in "a review\n" }
            let upstream = try await start(service, in: &group)
            let bare = try await start(bare(to: upstream, client), in: &group)
            let resilient = try await start(resilient(to: upstream, client), in: &group)
            let result = try await body(
                House(gateways: [bare + "api/reviews", resilient + "api/reviews"], client: HTTPClient.shared))
            group.cancelAll()
            return result
        }
        try await client.shutdown()
        return result
    }

    private func start(
        _ router: Router<AddressRequestContext>, in group: inout ThrowingTaskGroup<Void, any Error>
    ) async throws -> String {
        let (ports, port) = AsyncStream.makeStream(of: Int.self)
        let application = Application(
            router: router, configuration: .init(address: .hostname("127.0.0.1", port: 0)),
            onServerRunning: { port.yield($0.localAddress?.port ?? 0) }, logger: quiet)
        group.addTask { try await application.run() }
        for await port in ports { return "http://127.0.0.1:\(port)/" }
        throw CancellationError()
    }

    private let quiet = Logger(label: "gateway") { _ in SwiftLogNoOpLogHandler() }

    private func bare(to upstream: String, _ http: HTTPClient) -> Router<AddressRequestContext> {
        let router = Router(context: AddressRequestContext.self)
        router.get("api/:upstream") { request, context in
            _ = try context.parameters.require("upstream")
            let asked = try await HTTPClientRequest(passing: request, to: upstream, from: context.remoteAddress)
            return Response(passing: try await http.execute(asked, timeout: .seconds(5)))
        }
        return router
    }

    /// With what Sources/ResilientGateway has, and limits that nobody reaches.
    private func resilient(to upstream: String, _ http: HTTPClient) throws -> Router<AddressRequestContext> {
        let log = PolicyLogger(quiet)
        let counter = EventCounter()
        let observers = PolicyObservers(log, counter)
        let pipelines = try ConfiguredPipelinesOf<Pipeline.AllSettings>(
            file: "Sources/ResilientGateway/gateway.json", lookingEvery: .seconds(1), observers: observers)
        let calls = try pipelines.registry("upstreams")
        let requests = Pipeline.server("gateway", observers: observers)
        let router = Router(context: AddressRequestContext.self)
        router.add(middleware: CallFailureMiddleware())
        let api = router.group("api")
        api.add(middleware: CallDeadlineMiddleware(default: .seconds(5), max: .seconds(30), observers: observers))
        api.add(
            middleware: ThrottleMiddleware(limit: .perSecond(1_000_000, burst: 1_000_000)) { _, context in
                ClientKey.address(context.remoteAddress)
            })
        api.add(middleware: ResilienceMiddleware(requests))
        api.get(":upstream") { request, context in
            let name = try context.parameters.require("upstream")
            let asked = try await HTTPClientRequest(passing: request, to: upstream, from: context.remoteAddress)
            return Response(passing: try await http.resilient(calls[name]).execute(asked))
        }
        let health = HealthMonitor("gateway") {
            requests
            HealthSource(calls, name: "upstreams")
        }
        router.addHealth(health)
        router.addPrometheusMetrics(health, counting: counter)
        router.addResilienceDashboard(health, counting: counter)
        return router
    }
#endif
