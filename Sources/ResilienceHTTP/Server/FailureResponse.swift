public import Resilience

/// A server's response to a request that its own policies rejected, or whose call to another service failed: a status,
/// fields, and a small body.
///
/// ```swift
/// do {
///     return try await catalog.run { try await client.page() }
/// } catch {
///     let failure = FailureResponse(upstream: CallFailure(error))
///     for (name, value) in failure.fields {
///         response.headers.add(name: name, value: value)
///     }
///     response.status = failure.status
///     response.body = failure.problem
/// }
/// ```
///
/// It never contains the text of an error, or the name of a policy: those are for your logs.
///
/// See <doc:HTTPServersGuide>.
public struct FailureResponse: Sendable, Hashable {
    /// Why the request can't be served.
    public enum Reason: String, Sendable, Hashable, CaseIterable {
        /// The client sends too many requests.
        case rateLimited
        /// The service has too many requests in all.
        case overloaded
        /// The service does not take requests of this kind now, for example because of an open circuit.
        case unavailable
        /// The time for the request ran out.
        case timedOut
        /// A service that the request needs takes no calls now, or fewer calls.
        case upstreamUnavailable
        /// A service that the request needs failed.
        case upstreamFailed
        /// The request was cancelled: its client has gone.
        case cancelled
        /// The service itself failed.
        case failed
    }

    /// The status: 429, 499, 500, 502, 503 or 504, unless you change it.
    public var status: Int
    /// Why the request can't be served: a word for your metrics.
    public var reason: Reason
    /// The wait for the field `Retry-After`; nil if unknown.
    public var retryAfter: Duration?
    /// Whether the client should send the request again, for the fields `x-should-retry` and `x-envoy-overloaded`; nil
    /// sends neither field.
    ///
    /// By default the answer of the task's ``/Resilience/CallOrigin``: false if this service's retries failed, or if
    /// the request was tried three times. Also false if another service failed and wants no retry.
    public var shouldRetry: Bool?
    /// The longest wait in `Retry-After`, 1 s or more.
    ///
    /// An hour by default.
    public var longestRetryAfter = Duration.seconds(3600)
    /// The client's remaining quota, for the fields `RateLimit` and `RateLimit-Policy`; nil omits them.
    public var quota: ServerQuota?
    /// The sentence for people in ``problem``; nil for none.
    public var detail: String?
    /// Whether there is a body.
    ///
    /// True by default.
    public var hasBody = true

    /// Creates a response of your own.
    ///
    /// - Parameters:
    ///   - status: The status.
    ///   - reason: Why the request can't be served. It also decides ``detail``.
    ///   - retryAfter: How long the client should wait. nil, the default, if unknown.
    public init(status: Int, reason: Reason, retryAfter: Duration? = nil) {
        self.status = status
        self.reason = reason
        self.retryAfter = retryAfter
        shouldRetry = CallOrigin.current?.shouldCallerRetry
        detail = reason.detail
    }

    /// The response to a request that the service's own policies rejected.
    ///
    /// | failure | status |
    /// |---|---|
    /// | `ThrottleExceeded` | 429 if the limit is the client's; 503 if it is the whole service's |
    /// | `BulkheadFull`, `WouldWait` | 503 |
    /// | `CircuitOpen`, or a rejection by your own policy | 503 |
    /// | `DeadlinePassed`, `TimedOut` | 504 |
    /// | cancelled | 499 |
    /// | anything else | 500 |
    ///
    /// - Parameters:
    ///   - failure: The failure of the pipeline around the service's own work.
    ///   - limitsClient: Whether a throttle of that pipeline counts the requests of one client alone. True by default.
    public init(rejecting failure: CallFailure, limitsClient: Bool = true) {
        let (status, reason) = Self.rejection(failure, limitsClient)
        self.init(status: status, reason: reason, retryAfter: reason.isOver ? nil : failure.retryAfter)
    }

    /// The response to a request whose call to another service failed.
    ///
    /// | failure | status |
    /// |---|---|
    /// | a policy rejected the call: an open circuit, a throttle, a full bulkhead | 503 |
    /// | a 429 of the other service, or another throttled answer | 503 |
    /// | a 503 of the other service | 503 |
    /// | `DeadlinePassed`, `TimedOut`, a timeout of the client, a 504 of the other service | 504 |
    /// | an ``UpstreamError`` whose `isUpstream` is false | 500 |
    /// | any other answer of the other service, and any other error | 502 |
    /// | cancelled; also any failure but the timeouts above, if the current task is cancelled | 499 |
    ///
    /// Nothing becomes a 4xx, since the client did nothing wrong: the service itself was the client that got a 429.
    /// `RetriesExhausted` counts as the error of its last attempt.
    /// - Parameter failure: The failure of the pipeline around the call.
    public init(upstream failure: CallFailure) {
        let (status, reason) = Self.upstream(failure)
        self.init(status: status, reason: reason, retryAfter: reason.isOver ? nil : failure.retryAfter)
        // Passes the upstream's "do not retry" on to our caller.
        if (failure.lastError as? any VerdictConvertible)?.verdict.shouldRetry == false { shouldRetry = false }
    }

    private static func rejection(_ failure: CallFailure, _ limitsClient: Bool) -> (Int, Reason) {
        switch failure {
        case .rejected(is DeadlinePassed), .ended(is TimedOut): (504, .timedOut)
        case .rejected(is ThrottleExceeded): limitsClient ? (429, .rateLimited) : (503, .overloaded)
        case .rejected(is BulkheadFull), .rejected(is WouldWait): (503, .overloaded)
        case .rejected: (503, .unavailable)
        case .ended(let error): error.underlying.map { rejection(CallFailure($0), limitsClient) } ?? (500, .failed)
        case .cancelled: (499, .cancelled)
        case .operation: (500, .failed)
        }
    }

    private static func upstream(_ failure: CallFailure) -> (Int, Reason) {
        switch failure {
        // The server's own timeout cancels a task whose client still waits.
        case .rejected(is DeadlinePassed), .ended(is TimedOut): return (504, .timedOut)
        case _ where Task.isCancelled: return (499, .cancelled)
        case .rejected: return (503, .upstreamUnavailable)
        case .ended(let error): return error.underlying.map { upstream(CallFailure($0)) } ?? (502, .upstreamFailed)
        case .cancelled: return (499, .cancelled)
        case .operation(let error):
            if let error = CallFailure.upstreamError(error) {
                guard error.isUpstream else { return (500, .failed) }
                if error.isTimeout { return (504, .timedOut) }
            }
            switch ((error as? HTTPStatusError)?.status, (error as? any VerdictConvertible)?.verdict.kind) {
            case (504, _): return (504, .timedOut)
            case (503, _), (_, .throttled), (_, .rejected): return (503, .upstreamUnavailable)
            // The other service cancelled the call, since this task is not cancelled.
            case (_, .cancelled): return (502, .upstreamFailed)
            case (_, .success), (_, .transient), (_, .uncertain), (_, .permanent), (_, nil):
                return (502, .upstreamFailed)
            }
        }
    }
}

extension FailureResponse.Reason {
    /// Whether another try would be useless: the request's time is over, or its client has disconnected.
    fileprivate var isOver: Bool { self == .timedOut || self == .cancelled }

    fileprivate var detail: String {
        switch self {
        case .rateLimited: "Too many requests were sent in a short time."
        case .overloaded: "The service has too many requests at the moment."
        case .unavailable: "The service is not available at the moment."
        case .timedOut: "The time for the request ran out."
        case .upstreamUnavailable: "A service that is needed for the request is not available at the moment."
        case .upstreamFailed: "A service that is needed for the request failed."
        case .cancelled: "The request was cancelled."
        case .failed: "The service failed."
        }
    }
}
