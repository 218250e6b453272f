#if Gateway
    import AsyncHTTPClient
    import HTTPTypes
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
    import ResilienceSimulation
    import ResilienceTraffic

    /// A gateway: `GET /api/reviews` passes on the response of the service "reviews".
    struct Gateway {
        /// The file with the settings of the pipelines, which may change while the gateway runs.
        let settings: String
        /// The address of each service, by its name.
        let upstreams: [String: String]
        let address: BindAddress
        let logger: Logger
        /// Records the calls, if there is one.
        var recorder: TrafficRecorder?
        /// The request limit of each client.
        var perClient = ThrottleLimit.perSecond(50, burst: 100)

        /// Lives as long as the process, so nothing shuts it down.
        private static let http = HTTPClient(configuration: .forPipelines(attempt: .seconds(1)))

        /// - Parameter running: Gets the server's channel once it listens.
        func application(
            running: @escaping @Sendable (any Channel) async -> Void = { _ in }
        ) throws -> some ApplicationProtocol {
            let log = PolicyLogger(logger)
            let counter = EventCounter()
            let observers = PolicyObservers(log, counter)
            if let recorder { observers.add(recorder) }

            // The calls to the services: one pipeline each, from the settings.
            let pipelines = try ConfiguredPipelinesOf<Pipeline.AllSettings>(
                file: settings, lookingEvery: .seconds(1), observers: observers)
            let calls = try pipelines.registry("upstreams")

            // Incoming requests: a limit on concurrency, and a throttle per client.
            let requests = Pipeline.server("gateway", observers: observers)
            let router = Router(context: AddressRequestContext.self)
            router.add(middleware: CallFailureMiddleware())
            let api = router.group("api")
            api.add(middleware: CallDeadlineMiddleware(default: .seconds(5), max: .seconds(30), observers: observers))
            api.add(
                middleware: ThrottleMiddleware(limit: perClient) { _, context in
                    ClientKey.address(context.remoteAddress)
                })
            api.add(middleware: ResilienceMiddleware(requests))
            api.get(":upstream") { request, context in
                let name = try context.parameters.require("upstream")
                guard let upstream = upstreams[name] else { throw HTTPError(.notFound) }
                let asked = try await HTTPClientRequest(passing: request, to: upstream, from: context.remoteAddress)
                return Response(passing: try await Self.http.resilient(calls[name]).execute(asked))
            }

            // Health, metrics and the live page.
            let health = HealthMonitor("gateway") {
                requests
                HealthSource(calls, name: "upstreams")
            }
            router.addHealth(health)
            router.addPrometheusMetrics(health, counting: counter)
            router.addResilienceDashboard(health, counting: counter)

            var application = Application(
                router: router, configuration: .init(address: address), onServerRunning: running, logger: logger)
            application.addServices(LoggingService(log), ConfigurationService(pipelines))
            return application
        }
    }
#endif
