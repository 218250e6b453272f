#if Gateway
    import AsyncHTTPClient
    import Configuration
    import HTTPTypes
    import Hummingbird
    import Logging
    import NIOCore
    import NIOHTTP1
    import Resilience
    import ResilienceAsyncHTTPClient
    import ResilienceConfiguration
    import ResilienceDashboard
    import ResilienceHTTP
    import ResilienceHummingbird
    import ResilienceObservability
    import ServiceLifecycle

    /// A gateway: `GET /api/reviews` is answered by what the service "reviews" answers.
    struct Gateway {
        /// The settings of the pipelines, which may change while the gateway runs.
        let settings: ConfigReader
        /// The address of each service, by its name.
        let upstreams: [String: String]
        let address: BindAddress
        let logger: Logger

        func application() throws -> some ApplicationProtocol {
            let counter = EventCounter()
            let observers = PolicyObservers(PolicyLogger(logger), counter)

            // The calls to the services: a pipeline for each, by the settings.
            let pipelines = try ConfiguredPipelines(reader: settings, observers: observers)
            let calls = try pipelines.registry("upstreams")

            // The requests that come in: so many at a time, and no client too many.
            let requests = Pipeline.server("gateway", observers: observers)
            let router = Router(context: GatewayContext.self)
            router.add(middleware: CallFailureMiddleware())
            let api = router.group("api")
            api.add(middleware: CallDeadlineMiddleware(default: .seconds(5), max: .seconds(30), observers: observers))
            api.add(
                middleware: ThrottleMiddleware(limit: .perSecond(50, burst: 100)) { _, context in
                    ClientKey.address(context.remoteAddress)
                })
            api.add(middleware: ResilienceMiddleware(requests))
            api.get(":upstream") { _, context in
                let name = try context.parameters.require("upstream")
                guard let upstream = upstreams[name] else { throw HTTPError(.notFound) }
                let answer = try await HTTPClient.shared.resilient(calls[name]).execute(
                    HTTPClientRequest(url: upstream))
                var fields = HTTPFields()
                fields[.contentType] = answer.headers.first(name: "Content-Type")
                fields[.retryAfter] = answer.headers.first(name: "Retry-After")
                return Response(
                    status: .init(code: Int(answer.status.code)), headers: fields,
                    body: ResponseBody(asyncSequence: answer.body))
            }

            // What people and machines see of it.
            let health = HealthMonitor("gateway") {
                requests
                HealthSource(calls, name: "upstreams")
            }
            router.addHealth(health)
            router.addPrometheusMetrics(health, counting: counter)
            router.addResilienceDashboard(health)

            var application = Application(router: router, configuration: .init(address: address), logger: logger)
            application.addServices(Background { await pipelines.run() })
            return application
        }
    }

    /// What the gateway knows of a request: also where it comes from.
    struct GatewayContext: RequestContext, RemoteAddressRequestContext {
        var coreContext: CoreRequestContextStorage
        let remoteAddress: SocketAddress?

        init(source: ApplicationRequestContextSource) {
            coreContext = CoreRequestContextStorage(source: source)
            remoteAddress = source.channel.remoteAddress
        }
    }

    /// Work that runs beside the server, and is cancelled when the service shuts down.
    struct Background: Service {
        let work: @Sendable () async throws -> Void

        init(_ work: @escaping @Sendable () async throws -> Void) { self.work = work }

        func run() async throws {
            do { try await cancelWhenGracefulShutdown(work) } catch is CancellationError {}
        }
    }
#endif
