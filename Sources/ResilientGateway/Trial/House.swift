#if Gateway
    import AsyncHTTPClient
    import Foundation
    import Hummingbird
    import Logging
    import NIOCore
    import Resilience
    import ResilienceAsyncHTTPClient
    import ResilienceHTTP
    import ResilienceHummingbird

    /// The addresses of the two gateways, and their client.
    struct House {
        /// First without the toolkit, then with it.
        let gateways: [String]
        fileprivate let client: HTTPClient

        /// Lets 16 clients send requests for half a second, without a pause.
        func turn(at gateway: String) async throws -> Turn {
            let (start, processor) = (ContinuousClock.now, clock())
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
            return Turn(
                perSecond: Double(requests) / (start.duration(to: .now) / .seconds(1)),
                // POSIX counts in microseconds.
                microseconds: Double(clock() - processor) / Double(requests))
        }

        private func ask(_ gateway: String) async throws {
            let response = try await client.execute(HTTPClientRequest(url: gateway), timeout: .seconds(10))
            let body = try await response.body.collect(upTo: 4096)
            guard body.readableBytes == 9 else { throw Failed(status: "\(response.status)") }
        }
    }

    struct Turn {
        /// Requests per second.
        let perSecond: Double
        /// Processor time per request: clients, gateway and service together, including system time.
        let microseconds: Double
    }

    struct Failed: Error { let status: String }

    /// Runs `body` while the service and both gateways run.
    func withHouse<Result: Sendable>(_ body: @escaping @Sendable (House) async throws -> Result) async throws -> Result
    {
        let (client, settings) = (HTTPClient.shared, "Sources/ResilientGateway/gateway.json")
        return try await withThrowingTaskGroup(of: Void.self) { group in
            let service = Router(context: AddressRequestContext.self)
            service.get("/") { _, _ in "a review\n" }
            let upstream = try await start(in: &group) { application(service, running: $0) }
            // No client reaches this limit.
            let gateway = Gateway(
                settings: settings, upstreams: ["reviews": upstream], address: anyPort, logger: quiet,
                perClient: .perSecond(1_000_000, burst: 1_000_000))
            let with = try await start(in: &group) { try gateway.application(running: $0) }
            let without = try await start(in: &group) { application(bare(to: upstream), running: $0) }
            let result = try await body(
                House(gateways: [without + "api/reviews", with + "api/reviews"], client: client))
            group.cancelAll()
            return result
        }
    }

    private let anyPort = BindAddress.hostname("127.0.0.1", port: 0)
    /// Configured like the gateway's client.
    private let http = HTTPClient(configuration: .forPipelines(attempt: .seconds(1)))
    private let quiet = Logger(label: "gateway") { _ in SwiftLogNoOpLogHandler() }

    private typealias Running = @Sendable (any Channel) async -> Void

    /// - Returns: The address.
    private func start(
        in group: inout ThrowingTaskGroup<Void, any Error>,
        _ make: (@escaping Running) throws -> some ApplicationProtocol
    ) async throws -> String {
        let (ports, port) = AsyncStream.makeStream(of: Int.self)
        let application = try make { port.yield($0.localAddress?.port ?? 0) }
        group.addTask { try await application.run() }
        for await port in ports { return "http://127.0.0.1:\(port)/" }
        throw CancellationError()
    }

    private func application(
        _ router: Router<AddressRequestContext>, running: @escaping Running
    ) -> some ApplicationProtocol {
        Application(
            router: router, configuration: .init(address: anyPort), onServerRunning: running, logger: quiet)
    }

    private func bare(to upstream: String) -> Router<AddressRequestContext> {
        let router = Router(context: AddressRequestContext.self)
        router.get("api/:upstream") { request, context in
            _ = try context.parameters.require("upstream")
            let asked = try await HTTPClientRequest(passing: request, to: upstream, from: context.remoteAddress)
            return Response(passing: try await http.execute(asked, timeout: .seconds(5)))
        }
        return router
    }
#endif
