#if Hummingbird
    import HTTPTypes
    public import Hummingbird
    public import Resilience
    public import ResilienceHTTP

    /// Limits the rate of each client's requests, and tells clients their remaining quota.
    ///
    /// ```swift
    /// router.add(
    ///     middleware: ThrottleMiddleware(limit: .perSecond(10, burst: 20)) { request, context in
    ///         context.client.id
    ///     })
    /// ```
    ///
    /// A request above the limit is answered with 429 and `Retry-After`, and its handler does not run. Every response
    /// has the fields `RateLimit-Policy` and `RateLimit`, except for errors that outer middleware turns into a
    /// response: put a ``CallFailureMiddleware`` further in to give its responses these fields.
    ///
    /// Requests with the same key share a throttle. The key identifies the client, such as the name of its account, or
    /// ``ClientKey/address(_:)``. Requests without a key share one throttle, so that no client escapes the limit by
    /// leaving something out. To have no limit for some routes, add the middleware to a group of the other routes.
    ///
    /// Keys that clients choose freely can't make the server's memory grow: there are at most `maxKeys` throttles, and
    /// 64 shared throttles for further clients. But until there are `maxKeys`, a client that can choose a new key for
    /// each request has a new limit for each request. So don't use an API key before you have checked it, and don't use
    /// a field such as `X-Forwarded-For` unless a proxy of your own writes it: see ``ClientKey/forwarded(_:proxies:)``.
    public struct ThrottleMiddleware<Context: RequestContext>: RouterMiddleware {
        /// The throttles, by key: for a dashboard, or to change the limit.
        public let throttles: PolicyRegistry<String, Throttle>
        private let tellsQuota: Bool
        private let change: FailureResponseChange
        private let key: @Sendable (Request, Context) -> String?

        /// Creates middleware that limits the rate of each client's requests.
        ///
        /// - Parameters:
        ///   - name: The name of the throttles in events and errors, and of the limit in the response's fields.
        ///   - limit: The rate limit on the requests of one client.
        ///   - maxWait: How long a request may wait for its turn; 0 or more. With 0, the default, it is rejected at
        ///     once.
        ///   - maxKeys: The largest number of clients with a throttle of their own at the same time; 1 or more. 10 000
        ///     by default.
        ///   - tellsQuota: Whether the responses have the fields `RateLimit-Policy` and `RateLimit`.
        ///   - timeBase: The time base of the throttles' measurements.
        ///   - observers: The observers of rejected requests; nil for none.
        ///   - response: Changes the response to a rejected request. Unchanged by default.
        ///   - key: Returns the client's key; nil if it has none. The statuses of ``throttles`` show it, so return no
        ///     secret.
        public init(
            _ name: String = "requests", limit: ThrottleLimit, maxWait: Duration = .zero, maxKeys: Int = 10_000,
            tellsQuota: Bool = true, timeBase: any TimeBase = .system, observers: PolicyObservers? = nil,
            response: @escaping FailureResponseChange = { $1 },
            key: @escaping @Sendable (Request, Context) -> String?
        ) {
            // Checks the settings now, not at the first request.
            _ = Throttle(name, limit: limit, maxWait: maxWait, timeBase: timeBase)
            let throttles = PolicyRegistry<String, Throttle>(capacity: maxKeys, timeBase: timeBase) { _ in
                Throttle(name, limit: limit, maxWait: maxWait, timeBase: timeBase, observers: observers)
            }
            self.init(throttles: throttles, tellsQuota: tellsQuota, response: response, key: key)
        }

        /// Creates middleware whose throttles are in a registry of your own, for limits that differ by key or change.
        ///
        /// - Parameters:
        ///   - throttles: The throttles. The registry's capacity limits the number of clients with a throttle of their
        ///     own.
        ///   - tellsQuota: Whether the responses have the fields `RateLimit-Policy` and `RateLimit`.
        ///   - response: Changes the response to a rejected request. Unchanged by default.
        ///   - key: Returns the client's key; nil if it has none. The statuses of ``throttles`` show it, so return no
        ///     secret.
        public init(
            throttles: PolicyRegistry<String, Throttle>, tellsQuota: Bool = true,
            response: @escaping FailureResponseChange = { $1 },
            key: @escaping @Sendable (Request, Context) -> String?
        ) {
            self.throttles = throttles
            self.tellsQuota = tellsQuota
            change = response
            self.key = key
        }

        /// Answers a request, as Hummingbird calls it.
        ///
        /// - Parameters:
        ///   - request: The request.
        ///   - context: The request's context.
        ///   - next: The inner middleware and the handler.
        /// - Returns: The response.
        /// - Throws: The error of the inner middleware or the handler, or a ``FailedRequest``.
        @concurrent public func handle(
            _ request: Request, context: Context, next: @concurrent (Request, Context) async throws -> Response
        ) async throws -> Response {
            let throttle = throttle(for: key(request, context))
            do {
                // The permit ends at once: a throttle counts requests that begin.
                try await throttle.acquire().complete(.success)
            } catch {
                let failure = CallFailure(error)
                var answer = FailureResponse(rejecting: failure)
                answer.quota = tellsQuota ? throttle.quota : nil
                throw FailedRequest(failure, answer: change(failure, answer))
            }
            guard tellsQuota, let quota = throttle.quota else { return try await next(request, context) }
            let fields = HTTPFields(ours: RateLimitFields.fields(for: [quota]))
            do {
                var response = try await next(request, context)
                for field in fields { response.headers.append(field) }
                return response
            } catch let error as any HTTPResponseError {
                throw ErrorWithFields(base: error, fields: fields)
            }
        }

        private func throttle(for key: String?) -> Throttle {
            let key = ClientKey.bounded(key ?? "")
            return throttles.valueIfRoom(for: key) ?? throttles[ClientKey.shared(by: key)]
        }
    }
#endif
