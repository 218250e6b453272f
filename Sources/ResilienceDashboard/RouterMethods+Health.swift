#if Dashboard
    import HTTPTypes
    public import Hummingbird
    import NIOCore
    public import Resilience
    public import ResilienceObservability

    #if canImport(FoundationEssentials)
        import FoundationEssentials
    #else
        import Foundation
    #endif

    extension RouterMethods {
        /// Adds a route that answers with the service's health as JSON: with status 200, or 503 if the service is down.
        ///
        /// The report names the service's dependencies. For a public route, pass 0 for `components`.
        /// - Parameters:
        ///   - monitor: The monitor to report.
        ///   - path: The route's path. "/health" by default.
        ///   - components: How many components the report lists at most, 0 or more; nil, the default, for the monitor's
        ///     own limit.
        /// - Returns: The router, for more routes.
        @discardableResult
        public func addHealth(
            _ monitor: HealthMonitor, at path: RouterPath = "/health", components: Int? = nil
        ) -> Self {
            get(path) { _, _ in
                let report = await monitor.report(limit: components)
                return Response(
                    status: .init(code: report.status.httpStatusCode),
                    headers: [.contentType: "application/json; charset=utf-8", .cacheControl: "no-store"],
                    body: ResponseBody(byteBuffer: ByteBuffer(bytes: try JSONEncoder().encode(report))))
            }
        }

        /// Adds a route with the service's health in Prometheus' text format.
        ///
        /// - Parameters:
        ///   - monitor: The monitor to report.
        ///   - counter: Counts the events of the service's pipelines; nil, the default, for none.
        ///   - path: The route's path. "/metrics" by default.
        /// - Returns: The router, for more routes.
        @discardableResult
        public func addPrometheusMetrics(
            _ monitor: HealthMonitor, counting counter: EventCounter? = nil, at path: RouterPath = "/metrics"
        ) -> Self {
            get(path) { _, _ in
                Response(
                    status: .ok,
                    headers: [.contentType: HealthReport.prometheusContentType, .cacheControl: "no-store"],
                    body: ResponseBody(
                        byteBuffer: ByteBuffer(string: await monitor.report().prometheusText(counts: counter?.counts))))
            }
        }
    }
#endif
