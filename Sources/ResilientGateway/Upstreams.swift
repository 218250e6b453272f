#if Gateway
    import AsyncHTTPClient
    import Hummingbird
    import Logging
    import Resilience
    import ResilienceHummingbird
    import ServiceLifecycle

    /// Three services on loopback for the gateway to call. Each fails in its own way.
    struct Upstreams {
        /// The first service's port; the others use the next two.
        let firstPort: Int

        private static let names = ["reviews", "prices", "catalog"]

        /// The address of each, by its name.
        var addresses: [String: String] {
            Dictionary(uniqueKeysWithValues: zip(Self.names, firstPort...).map { ($0, "http://127.0.0.1:\($1)/") })
        }

        var services: [any Service] {
            [
                Background { try await Self.reviews(on: firstPort).run() },
                Background { try await Self.prices(on: firstPort + 1).run() },
                Background { try await Self.catalog(on: firstPort + 2) },
            ]
        }

        /// Calls each of them through the gateway, four times per second.
        func traffic(to gateway: String) -> [any Service] {
            Self.names.map { name in Background { try await Self.call("\(gateway)/api/\(name)") } }
        }

        /// Answers after 50 ms, and every tenth time after 3 s.
        private static func reviews(on port: Int) -> some ApplicationProtocol {
            let count = Locked(0)
            return service(on: port) { _, _ in
                let number = count.withLock { count in
                    count += 1
                    return count
                }
                try await Task.sleep(for: number.isMultiple(of: 10) ? .seconds(3) : .milliseconds(50))
                return "a review\n"
            }
        }

        /// Answers five requests per second, and the rest with a 429.
        private static func prices(on port: Int) -> some ApplicationProtocol {
            service(on: port, limit: .perSecond(5, burst: 5)) { _, _ in "a price\n" }
        }

        /// Runs for 20 seconds, then is down for 15, and so on.
        private static func catalog(on port: Int) async throws {
            while true {
                try await run(service(on: port) { _, _ in "a catalog\n" }, for: .seconds(20))
                try await Task.sleep(for: .seconds(15))
            }
        }

        private static func service(
            on port: Int, limit: ThrottleLimit? = nil,
            _ handler: @escaping @Sendable (Request, BasicRequestContext) async throws -> String
        ) -> some ApplicationProtocol {
            let router = Router()
            if let limit { router.add(middleware: ThrottleMiddleware(limit: limit) { _, _ in nil }) }
            router.get("/", use: handler)
            return Application(
                router: router, configuration: .init(address: .hostname("127.0.0.1", port: port)), logger: quiet)
        }

        private static func run(_ application: some ApplicationProtocol, for length: Duration) async throws {
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await application.run() }
                group.addTask { try await Task.sleep(for: length) }
                try await group.next()
                group.cancelAll()
            }
        }

        private static func call(_ url: String) async throws {
            while true {
                try await Task.sleep(for: .milliseconds(250))
                // The page and the log show the result.
                guard
                    let response = try? await HTTPClient.shared.execute(
                        HTTPClientRequest(url: url), timeout: .seconds(30))
                else { continue }
                _ = try? await response.body.collect(upTo: 4096)
            }
        }

        private static let quiet = Logger(label: "upstream") { _ in SwiftLogNoOpLogHandler() }
    }

    /// Work that is cancelled when the services shut down.
    private struct Background: Service {
        let work: @Sendable () async throws -> Void

        init(_ work: @escaping @Sendable () async throws -> Void) { self.work = work }

        func run() async throws {
            do { try await cancelWhenGracefulShutdown(work) } catch is CancellationError {}
        }
    }
#endif
