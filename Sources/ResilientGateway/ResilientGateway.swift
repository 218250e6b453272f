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
            let environment = ConfigReader(provider: EnvironmentVariablesProvider())
            let port = environment.int(forKey: "port", default: 8080)
            let first = environment.int(forKey: "upstream.port", default: 8081)
            let path = environment.string(forKey: "file.path", default: "Sources/ResilientGateway/gateway.json")
            let file = try await ReloadingFileProvider<JSONSnapshot>(
                config: ConfigReader(
                    provider: InMemoryProvider(values: [
                        "filePath": .init(stringLiteral: path), "pollIntervalSeconds": 1,
                    ])))
            let names = ["reviews", "prices", "catalog"]
            let ports = zip(names, first...).map { ($0, $1) }
            let gateway = Gateway(
                settings: ConfigReader(providers: [EnvironmentVariablesProvider(), file]),
                upstreams: Dictionary(uniqueKeysWithValues: ports.map { ($0, "http://127.0.0.1:\($1)/") }),
                address: .hostname("127.0.0.1", port: port), logger: Logger(label: "gateway"))

            let upstreams: [any Service] = [
                Background { try await Upstreams.reviews(on: first).run() },
                Background { try await Upstreams.prices(on: first + 1).run() },
                Background { try await Upstreams.catalog(on: first + 2) },
            ]
            let traffic: [any Service] =
                environment.bool(forKey: "traffic", default: true)
                ? [Background { try await Upstreams.traffic(to: "http://127.0.0.1:\(port)", names: names) }] : []
            print("http://127.0.0.1:\(port)/resilience    settings: \(path)")
            let group = ServiceGroup(
                services: upstreams + traffic + [file, try gateway.application()],
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
