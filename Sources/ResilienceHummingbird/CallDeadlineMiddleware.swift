#if Hummingbird
    import HTTPTypes
    public import Hummingbird
    public import Resilience
    public import ResilienceHTTP

    /// Gives each request a deadline, which travels with its task to every call that the handler makes through a
    /// pipeline.
    ///
    /// ```swift
    /// router.add(middleware: CallDeadlineMiddleware(default: .seconds(10), max: .seconds(60)))
    /// ```
    ///
    /// The client may ask for a deadline, in the field `x-envoy-expected-rq-timeout-ms`: a number of milliseconds. If a
    /// request's deadline passes before its handler begins, it is answered with 504 at once. If the deadline comes
    /// while a pipeline runs a call, the call ends, and the request is also answered with 504. A handler that uses no
    /// pipeline is not cancelled: for that, put a ``/Resilience/Timeout`` into the pipeline of a
    /// ``ResilienceMiddleware``.
    ///
    /// Of two deadlines the earlier counts. So a route can shorten the server's deadline, but not extend it.
    public struct CallDeadlineMiddleware<Context: RequestContext>: RouterMiddleware {
        private let standard: Duration?
        private let longest: Duration
        private let timeBase: any TimeBase
        private let observers: PolicyObservers?
        private let change: FailureResponseChange
        private let requested: @Sendable (Request, Context) -> Duration?

        /// Creates the middleware.
        ///
        /// - Parameters:
        ///   - standard: The time of a request that asks for none; above 0. nil, the default, for no limit.
        ///   - longest: The longest time that a request may ask for; above 0. 60 s by default.
        ///   - context: The type of the requests' context. You can leave it out.
        ///   - timeBase: The time base of the deadline.
        ///   - observers: The observers of requests whose time is over before their handlers begin; nil for none.
        ///   - requested: Returns the time that a request asks for, zero or less if it is over; nil if it asks for
        ///     none. By default it reads the request's field.
        ///   - response: Changes the response to a request whose time is over. Unchanged by default.
        public init(
            default standard: Duration? = nil, max longest: Duration = .seconds(60),
            context: Context.Type = Context.self,
            timeBase: any TimeBase = .system, observers: PolicyObservers? = nil,
            requested: (@Sendable (Request, Context) -> Duration?)? = nil,
            response: @escaping FailureResponseChange = { $1 }
        ) {
            let checks = SettingChecks("CallDeadlineMiddleware")
            self.standard = standard.map { checks.aboveZero($0, "default") }
            self.longest = checks.aboveZero(longest, "max")
            self.timeBase = timeBase
            self.observers = observers
            self.requested = requested ?? { request, _ in deadline(from: request.headers) }
            change = response
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
            guard let time = requested(request, context).map({ min($0, longest) }) ?? standard else {
                return try await next(request, context)
            }
            let deadline = CallDeadline(after: time, on: timeBase)
            guard time > .zero, CallDeadline.current.map({ $0.remaining > .zero }) ?? true else {
                let event = CallDeadlineEvent.passedBeforeHandler(asked: time)
                observers?.send(PolicyEvent(policy: "deadline", pipeline: nil, time: timeBase.now, detail: event))
                throw failed(DeadlinePassed())
            }
            do {
                return try await deadline.run { try await next(request, context) }
            } catch {
                guard !(error is any HTTPResponseError), deadline.remaining == .zero else { throw error }
                throw error is DeadlinePassed || error.isTimeout ? failed(error) : error
            }
        }

        private func failed(_ error: any Error) -> FailedRequest {
            let failure = CallFailure(error)
            return FailedRequest(failure, answer: change(failure, FailureResponse(status: 504, reason: .timedOut)))
        }
    }

    /// An event of ``CallDeadlineMiddleware``.
    public enum CallDeadlineEvent: PolicyEventDetail, Equatable {
        /// The time of a request, its own or the default, was over before its handler began.
        case passedBeforeHandler(asked: Duration)

        public var kind: String { "passedBeforeHandler" }

        public var fields: EventFields {
            switch self {
            case .passedBeforeHandler(let time): ["asked": time]
            }
        }

        public var description: String {
            switch self {
            case .passedBeforeHandler(let time):
                "rejecting request: its time was over before it began (asked for \(time.text))"
            }
        }
    }

    /// Returns the time in a request's fields; nil if there is none, or if it is unreadable.
    func deadline(from fields: HTTPFields) -> Duration? {
        let field = DeadlineField.standard
        return HTTPField.Name(field.name).flatMap { fields[$0] }.flatMap { field.remaining($0) }
    }
#endif
