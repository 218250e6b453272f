#if Dashboard
    import Foundation
    import Hummingbird
    import Logging
    import Resilience
    import ResilienceDashboard
    import ResilienceObservability
    import ResilienceSync

    /// A service with a dashboard, and upstreams that a script takes down and brings back: for .ci/dashboard.
    ///
    ///     swift run --enable-all-traits dashboard-demo
    ///     curl -X POST http://127.0.0.1:8080/demo/payments/down
    ///
    /// The port is `PORT`, 8080 by default; with 0 the system chooses one. The demo prints it.
    @main final class Demo: Sendable {
        struct Unavailable: Error, VerdictConvertible {
            var verdict: Verdict { .transient }
        }

        struct TooMany: Error, VerdictConvertible {
            var verdict: Verdict { .throttled(retryAfter: .seconds(300)) }
        }

        /// The upstreams that are down, and those that answer 429.
        struct World {
            var down: Set<String> = []
            var busy: Set<String> = []
        }

        let world = Locked(World())
        let time = SystemTimeBase.shared
        let counter = EventCounter()

        func upstream(_ name: String, takes length: Duration) async throws {
            try await time.sleep(for: length)
            let (isDown, isBusy) = world.withLock { ($0.down.contains(name), $0.busy.contains(name)) }
            if isDown { throw Unavailable() }
            if isBusy { throw TooMany() }
        }

        func pipeline(_ name: String, openFor seconds: Int) -> Pipeline {
            Pipeline(name, observers: PolicyObservers(counter)) {
                CircuitBreaker("\(name) breaker", openFor: .seconds(seconds))
                Throttle(
                    "\(name) rate", limit: .perSecond(40, burst: 40), maxWait: .milliseconds(200), holdOnThrottled: true
                )
                Bulkhead("\(name) permits", limit: 8, queue: 16)
            }
        }

        func run() async throws {
            let payments = pipeline("payments", openFor: 4)
            let search = pipeline("search", openFor: 8)
            let endpoints = CircuitBreakerRegistry<String> { CircuitBreaker($0, openFor: .seconds(15)) }
            let names = [
                "/v1/activities", "/v1/streams", "/v1/uploads", "/v1/<script>alert(1)</script>", "/v1/segments",
            ]
            for name in names { _ = endpoints[name] }
            let queue = SyncQueue("outbox", store: MemoryStore(), pipeline: Pipeline("outbox") {}) { _ in
                try await self.upstream("outbox", takes: .milliseconds(80))
            }
            let health = HealthMonitor("orders") {
                HealthSource(payments, isRequired: true)
                search
                HealthSource(endpoints, name: "endpoints")
                queue
            }

            let router = Router()
            router.get("/health") { _, _ in
                let report = await health.report()
                return Response(
                    status: .init(code: report.status.httpStatusCode), headers: [.contentType: "application/json"],
                    body: ResponseBody(byteBuffer: ByteBuffer(bytes: try JSONEncoder().encode(report))))
            }
            router.get("/metrics") { _, _ in
                Response(
                    status: .ok, headers: [.contentType: HealthReport.prometheusContentType],
                    body: ResponseBody(byteBuffer: ByteBuffer(string: await health.report().prometheusText())))
            }
            router.addResilienceDashboard(
                health, counting: counter, configuration: DashboardConfiguration(allowsActions: true))
            router.post("/demo/:name/:state") { _, context in
                let (name, state) = (try context.parameters.require("name"), try context.parameters.require("state"))
                self.world.withLock { world in
                    world.down.remove(name)
                    world.busy.remove(name)
                    if state == "down" { world.down.insert(name) }
                    if state == "busy" { world.busy.insert(name) }
                }
                return HTTPResponse.Status.noContent
            }
            router.post("/demo/enqueue") { _, _ in
                for number in 0..<50 {
                    let mutation = Mutation(entity: "order-\(number % 10)", kind: "create", payload: Data(count: 200))
                    _ = try await queue.enqueue(mutation)
                }
                queue.trigger()
                return HTTPResponse.Status.noContent
            }

            let port = ProcessInfo.processInfo.environment["PORT"].flatMap { Int($0) } ?? 8080
            var logger = Logger(label: "demo")
            logger.logLevel = .error
            let app = Application(
                router: router, configuration: ApplicationConfiguration(address: .hostname("127.0.0.1", port: port)),
                onServerRunning: { channel in
                    print("http://127.0.0.1:\(channel.localAddress?.port ?? port)/resilience")
                    fflush(nil)
                }, logger: logger)
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await app.runService() }
                group.addTask {
                    try await self.load("payments", every: .milliseconds(60)) { try await payments.run($0) }
                }
                group.addTask { try await self.load("search", every: .milliseconds(45)) { try await search.run($0) } }
                for (number, name) in names.enumerated() {
                    group.addTask {
                        let upstream = String(name.split(separator: "/").last ?? "")
                        try await self.load(upstream, every: .milliseconds(150 + 40 * number)) {
                            try await endpoints[name].run($0)
                        }
                    }
                }
                try await group.next()
                group.cancelAll()
            }
        }

        /// Calls an upstream again and again, a few calls at a time.
        func load(
            _ name: String, every pause: Duration,
            through run: @escaping @Sendable (@escaping @Sendable () async throws -> Void) async throws -> Void
        ) async throws {
            try await withThrowingDiscardingTaskGroup { group in
                while !Task.isCancelled {
                    group.addTask {
                        try? await run { try await self.upstream(name, takes: .milliseconds(Int.random(in: 20...220))) }
                    }
                    try await time.sleep(for: pause)
                }
            }
        }

        static func main() async throws { try await Demo().run() }
    }
#else
    @main struct Demo {
        static func main() { print("Run it with the trait: swift run --traits Dashboard dashboard-demo") }
    }
#endif
