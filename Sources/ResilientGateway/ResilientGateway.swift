#if Gateway
    import Configuration
    import Foundation
    import Hummingbird
    import Logging
    import ResilienceSimulation
    import ServiceLifecycle
    import UnixSignals

    /// Runs the gateway, the three services that it calls, and some traffic, until it is interrupted.
    ///
    /// Its own settings come from the environment: `PORT` (8080), `UPSTREAM_PORT` (8081, and the two after it),
    /// `FILE_PATH` (the settings of the pipelines), `TRAFFIC` (true), `RECORD_PATH` (a file that records its calls).
    @main struct ResilientGateway {
        static func main() async {
            do {
                let arguments = CommandLine.arguments.dropFirst()
                if arguments.first == "trial" { exit(try await Trial.run(arguments.dropFirst().first)) }
                try await run()
            } catch {
                Logger(label: "gateway").critical("\(error)")
                exit(1)
            }
        }

        private static func run() async throws {
            let environment = ConfigReader(provider: EnvironmentVariablesProvider())
            let port = environment.int(forKey: "port", default: 8080)
            let path = environment.string(forKey: "file.path", default: "Sources/ResilientGateway/gateway.json")
            let upstreams = Upstreams(firstPort: environment.int(forKey: "upstream.port", default: 8081))
            let recorder = try environment.string(forKey: "record.path").map {
                try TrafficRecorder(to: URL(filePath: $0))
            }
            defer { recorder?.flush() }
            let gateway = Gateway(
                settings: path, upstreams: upstreams.addresses, address: .hostname("127.0.0.1", port: port),
                logger: Logger(label: "gateway"), recorder: recorder)
            let url = "http://127.0.0.1:\(port)"
            print("\(url)/resilience    settings: \(path)")
            let traffic = environment.bool(forKey: "traffic", default: true) ? upstreams.traffic(to: url) : []
            let group = ServiceGroup(
                services: upstreams.services + traffic + [try gateway.application()],
                gracefulShutdownSignals: [.sigterm, .sigint], logger: gateway.logger)
            try await group.run()
        }
    }
#else
    @main struct ResilientGateway {
        static func main() {
            print("The gateway needs the Gateway trait: swift run --traits Gateway resilient-gateway")
        }
    }
#endif
