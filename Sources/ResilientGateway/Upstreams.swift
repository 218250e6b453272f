#if Gateway
    import AsyncHTTPClient
    import Hummingbird
    import Logging
    import Resilience
    import ResilienceHummingbird
    import ServiceLifecycle

    /// Three services on loopback for the gateway to call. Each has a trouble of its own.
    enum Upstreams {
        /// Answers after 50 ms, and every tenth time after 3 s.
        static func reviews(on port: Int) -> some ApplicationProtocol {
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

        /// Answers five requests per second, and the others by 429.
        static func prices(on port: Int) -> some ApplicationProtocol {
            service(on: port, limit: .perSecond(5, burst: 5)) { _, _ in "a price\n" }
        }

        /// Answers for 20 seconds, then is gone for 15, and so on.
        static func catalog(on port: Int) async throws {
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

        /// Calls each service through the gateway, four times per second.
        static func traffic(to gateway: String, names: [String]) async throws {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for name in names {
                    group.addTask {
                        while true {
                            try await Task.sleep(for: .milliseconds(250))
                            // What the gateway answers is what the page and the log show.
                            guard
                                let response = try? await HTTPClient.shared.execute(
                                    HTTPClientRequest(url: "\(gateway)/api/\(name)"), timeout: .seconds(30))
                            else { continue }
                            _ = try? await response.body.collect(upTo: 4096)
                        }
                    }
                }
                try await group.waitForAll()
            }
        }

        private static let quiet = Logger(label: "upstream") { _ in SwiftLogNoOpLogHandler() }
    }
#endif
