#if Gateway
    import Configuration
    import Foundation
    import Hummingbird
    import Logging
    import ServiceLifecycle
    import UnixSignals

    /// Runs the gateway, the three services that it calls, and some traffic, until it is interrupted.
    ///
    /// Settings of its own come from the environment: `PORT` (8080), `UPSTREAM_PORT` (8081, and the two after it),
    /// `FILE_PATH` (the settings of the pipelines), `TRAFFIC` (true).
    @main struct ResilientGateway {
        static func main() async {
            do {
                try await run()
            } catch {
                Logger(label: "gateway").critical("\(error)")
                exit(1)
            }
        }

        private static func run() async throws {
            let standard = InMemoryProvider(
                values: ["filePath": "Sources/ResilientGateway/gateway.json", "pollIntervalSeconds": 1])
            let environment = ConfigReader(providers: [EnvironmentVariablesProvider(), standard])
            let file = try await ReloadingFileProvider<JSONSnapshot>(config: environment)
            let port = environment.int(forKey: "port", default: 8080)
            let upstreams = Upstreams(firstPort: environment.int(forKey: "upstream.port", default: 8081))
            let gateway = Gateway(
                settings: ConfigReader(providers: [EnvironmentVariablesProvider(), file]),
                upstreams: upstreams.addresses, address: .hostname("127.0.0.1", port: port),
                logger: Logger(label: "gateway"))
            let url = "http://127.0.0.1:\(port)"
            print("\(url)/resilience    settings: \(environment.string(forKey: "filePath", default: ""))")
            let traffic = environment.bool(forKey: "traffic", default: true) ? upstreams.traffic(to: url) : []
            let group = ServiceGroup(
                services: upstreams.services + traffic + [file, try gateway.application()],
                gracefulShutdownSignals: [.sigterm, .sigint], logger: gateway.logger)
            try await group.run()
        }
    }
#else
    @main struct ResilientGateway {
        static func main() {
            print("The gateway needs its packages: swift run --traits Gateway resilient-gateway")
        }
    }
#endif
