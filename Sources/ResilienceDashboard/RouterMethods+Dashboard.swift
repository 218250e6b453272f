#if Dashboard
    import HTTPTypes
    public import Hummingbird
    import NIOCore
    public import Resilience
    public import ResilienceObservability
    import ServiceLifecycle

    #if canImport(FoundationEssentials)
        import FoundationEssentials
    #else
        import Foundation
    #endif

    extension RouterMethods {
        /// Adds a live page of all pipelines, policies and queues of a monitor.
        ///
        /// ```swift
        /// router.addResilienceDashboard(health, counting: counter)
        /// ```
        ///
        /// The page shows the names of the services that yours calls, so add it to a route group that only your own
        /// people can reach. The dashboard has no other routes.
        ///
        /// While no page is open, the dashboard only notes the changes of circuits, for their timelines, and reads the
        /// counter every 5 seconds. While a page is open, it reads the states twice a second, and after each change of
        /// a circuit.
        /// - Parameters:
        ///   - monitor: The monitor to show.
        ///   - counter: Counts the events of the service's pipelines: the page shows how many calls per second each
        ///     pipeline has, how many fail, and how many are rejected. Pipelines of the same name are counted together,
        ///     so their rates are not shown. nil, the default, for no rates.
        ///   - path: The page's path. Its stream of events is at `path/events`, and actions by hand go to
        ///     `path/actions`. "/resilience" by default.
        ///   - configuration: The settings of the dashboard. Nothing can be changed by hand by default.
        /// - Returns: The router, for more routes.
        @discardableResult
        public func addResilienceDashboard(
            _ monitor: HealthMonitor, counting counter: EventCounter? = nil, at path: RouterPath = "/resilience",
            configuration: DashboardConfiguration = DashboardConfiguration()
        ) -> Self {
            addResilienceDashboard(
                DashboardService(DashboardHub(monitor, configuration, counting: counter)), at: path)
        }

        @discardableResult
        func addResilienceDashboard(_ service: DashboardService, at path: RouterPath) -> Self {
            let group = group(path)
            group.get { _, _ in service.page() }
            group.get("events") { _, _ in service.events() }
            group.post("actions") { request, _ in await service.act(on: request) }
            return self
        }
    }

    /// Answers the requests of a dashboard.
    struct DashboardService: Sendable {
        /// The largest size of an action, in bytes.
        private static let actionLimit = 4096

        let hub: DashboardHub
        let gate: DashboardGate
        private let beat: Duration
        private let writing: Pipeline

        /// - Parameters:
        ///   - beat: How often a message tells a page that the connection is alive. The service notices that a page has
        ///     gone away at the next write or the one after it.
        ///   - writeLimit: How long one write to a page may take before its connection is closed. The page itself
        ///     closes a connection that is silent for 10 seconds, and the service can't shut down before the write
        ///     ends.
        init(_ hub: DashboardHub, beat: Duration = .seconds(2), writeLimit: Duration = .seconds(10)) {
            self.hub = hub
            self.beat = beat
            var generator = SystemRandomNumberGenerator()
            gate = DashboardGate(using: &generator)
            writing = Pipeline("dashboard") { Timeout(limit: writeLimit) }
        }

        // MARK: The page

        func page() -> Response {
            var generator = SystemRandomNumberGenerator()
            let nonce = DashboardGate.random(using: &generator)
            let token = hub.configuration.allowsActions ? gate.token : ""
            var headers: HTTPFields = [.contentType: "text/html; charset=utf-8", .cacheControl: "no-store"]
            headers[.contentSecurityPolicy] =
                "default-src 'none'; script-src 'nonce-\(nonce)'; style-src 'nonce-\(nonce)'; connect-src 'self'; "
                + "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
            headers[.xContentTypeOptions] = "nosniff"
            headers[.referrerPolicy] = "no-referrer"
            let html = DashboardPage.html(nonce: nonce, token: token)
            return Response(status: .ok, headers: headers, body: ResponseBody(byteBuffer: ByteBuffer(string: html)))
        }

        // MARK: The stream

        func events() -> Response {
            guard let seat = hub.join() else {
                return Self.text("too many pages are open", .serviceUnavailable, [.retryAfter: "5"])
            }
            var headers: HTTPFields = [.contentType: "text/event-stream", .cacheControl: "no-store"]
            headers[.xAccelBuffering] = "no"
            return Response(
                status: .ok, headers: headers,
                body: ResponseBody { [self] writer in
                    defer { seat.leave() }
                    try await withGracefulShutdownHandler {
                        try await tell(writer, seat)
                    } onGracefulShutdown: {
                        seat.leave()
                    }
                    try await end(writer)
                })
        }

        /// The end of the stream is also a write, with the same limit: a page that does not read must not delay the
        /// service's shutdown.
        func end(_ writer: any ResponseBodyWriter) async throws {
            // Safe: the pipeline runs the closure once and waits for its end, and meanwhile nothing else uses the
            // writer.
            nonisolated(unsafe) let writer = writer
            try await writing.run { try await writer.finish(nil) }
        }

        private func tell(_ writer: any ResponseBodyWriter, _ seat: DashboardHub.Seat) async throws {
            // Safe: only one write at a time uses the writer. The timeout runs a write in a child task, and returns
            // only after the task has ended, so nothing else can use the writer meanwhile.
            nonisolated(unsafe) var writer = writer
            var last: DashboardState?
            var wrote = hub.timeBase.now
            for await state in seat.states {
                var message = hub.snapshot(state)
                if let old = last {
                    let settled = state.settled(on: old)
                    let change = DashboardMessage.Change(from: old, to: settled)
                    last = settled
                    if change.isEmpty {
                        guard wrote.duration(to: hub.timeBase.now) >= beat else { continue }
                        message = .beat(now: settled.now)
                    } else {
                        message = .change(change)
                    }
                } else {
                    last = state
                }
                let text = try (message.isFirst ? "retry: 1000\n" : "") + message.text
                try await writing.run { try await writer.write(ByteBuffer(string: text)) }
                wrote = hub.timeBase.now
            }
        }

        // MARK: By hand

        func act(on request: Request) async -> Response {
            guard hub.configuration.allowsActions else {
                return Self.text("this service does not allow it", .forbidden)
            }
            let mayAct = gate.allows(
                token: request.headers[.resilienceToken], origin: request.headers[.origin],
                authority: request.head.authority, site: request.headers[.secFetchSite])
            guard mayAct else { return Self.text("the request did not come from the page", .forbidden) }
            guard let body = try? await request.body.collect(upTo: Self.actionLimit) else {
                return Self.text("the request is too large", .contentTooLarge)
            }
            guard let action = try? JSONDecoder().decode(DashboardAction.self, from: Data(body.readableBytesView))
            else {
                return Self.text("this is not an action", .badRequest)
            }
            guard action.perform(on: hub.monitor) else {
                return Self.text("there is no such policy, or its state does not allow it", .conflict)
            }
            hub.poke()
            return Response(status: .noContent)
        }

        private static func text(
            _ text: String, _ status: HTTPResponse.Status, _ headers: HTTPFields = [:]
        ) -> Response {
            var headers = headers
            headers[.contentType] = "text/plain; charset=utf-8"
            return Response(
                status: status, headers: headers, body: ResponseBody(byteBuffer: ByteBuffer(string: text + "\n")))
        }
    }

    extension DashboardMessage {
        fileprivate var isFirst: Bool { if case .snapshot = self { true } else { false } }
    }

    extension HTTPField.Name {
        // Never nil: each name consists of letters and hyphens.
        static let resilienceToken = Self("X-Resilience-Token")!
        fileprivate static let referrerPolicy = Self("Referrer-Policy")!
        fileprivate static let secFetchSite = Self("Sec-Fetch-Site")!
        fileprivate static let xAccelBuffering = Self("X-Accel-Buffering")!
    }
#endif
