#if AsyncHTTPClient
    import AsyncHTTPClient
    public import Resilience

    /// No connection of the client's own pool became free within its connect timeout.
    ///
    /// The server did not receive the request.
    ///
    /// ``ResilientHTTPClient`` throws it instead of `HTTPClientError.getConnectionFromPoolTimeout`. Like a full
    /// bulkhead's error, it is a rejection, not a failure of the server: a circuit breaker does not count it.
    public struct NoFreeConnection: Rejection {
        /// Creates the error.
        public init() {}

        /// Always nil: it is unknown when a connection becomes free.
        public var retryAfter: Duration? { nil }

        public var description: String {
            "No connection of the HTTP client became free in time. Give it more connections for each host "
                + "(HTTPClient.Configuration.forPipelines), or lower the bulkhead's limit. \(retryAdvice)"
        }
    }

    /// An event of a ``ResilientHTTPClient``, for the observers of its pipeline.
    public enum ConnectionPoolEvent: PolicyEventDetail, Equatable {
        /// The pipeline admits more calls than the client has connections for one host.
        ///
        /// The excess calls wait inside the client, and their attempts time out there.
        case tooNarrow(connections: Int, bulkhead: Int)

        public var kind: String { "tooNarrow" }
        public var severity: PolicyEventSeverity { .warning }

        public var fields: EventFields {
            switch self {
            case .tooNarrow(let connections, let bulkhead): ["connections": connections, "limit": bulkhead]
            }
        }

        public var description: String {
            switch self {
            case .tooNarrow(let connections, let bulkhead):
                "the client has \(connections) connections for each host, and the bulkhead lets in \(bulkhead) calls: "
                    + "the others wait for a connection while their attempts' time passes. "
                    + "Use HTTPClient.Configuration.forPipelines(), or lower the bulkhead's limit"
            }
        }
    }

    /// Reports, once for each client and pipeline, that the client's pool of connections is narrower than the pipeline.
    enum ConnectionPoolCheck {
        private struct Pair: Hashable {
            let client: ObjectIdentifier
            let observers: ObjectIdentifier
            let pipeline: String
        }

        private static let seen = Locked<Set<Pair>>([])

        static func tell(_ client: HTTPClient, _ pipeline: Pipeline) {
            let observers = pipeline.observers
            let pair = Pair(
                client: ObjectIdentifier(client), observers: ObjectIdentifier(observers), pipeline: pipeline.name)
            let isNew = seen.withLock { seen in
                // Some code makes a client for each request. A repeated report is better than memory that grows without
                // end.
                if seen.count > 1_000 { seen = [] }
                return seen.insert(pair).inserted
            }
            guard isNew, let event = event(client, pipeline) else { return }
            observers.send(
                PolicyEvent(policy: "client", pipeline: pipeline.name, time: pipeline.timeBase.now, detail: event))
        }

        static func event(_ client: HTTPClient, _ pipeline: Pipeline) -> ConnectionPoolEvent? {
            guard let bulkhead = pipeline.policies(of: Bulkhead.self).map(\.status.limit).min(),
                let connections = client.connectionsPerHost, bulkhead > connections
            else { return nil }
            return .tooNarrow(connections: connections, bulkhead: bulkhead)
        }
    }

    extension HTTPClient {
        /// The number of HTTP/1 connections that the client keeps to one host. The client's own configuration is
        /// internal, so this reads its stored form; nil for an unknown form.
        var connectionsPerHost: Int? {
            let configuration = Mirror(reflecting: self).descendant("configuration") as? HTTPClient.Configuration
            return configuration?.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit
        }
    }
#endif
