#if AsyncHTTPClient
    import AsyncHTTPClient
    public import Resilience
    import ResilienceHTTP

    /// The body of the request can be read only once, and an attempt has read it, so there is no further attempt.
    ///
    /// It is thrown only if your own retry rule or policy repeats a request against its attempt's verdict. Otherwise
    /// the attempt's own response is returned, or its error is thrown.
    public struct RequestBodyConsumed: PolicyError, VerdictConvertible {
        /// The error of the attempt that read the body; nil if it returned a response.
        public let underlying: (any Error)?

        /// Creates the error.
        ///
        /// - Parameter underlying: The error of the attempt that read the body; nil if it returned a response.
        public init(underlying: (any Error)? = nil) { self.underlying = underlying }

        /// Permanent: the next attempt has no body either.
        public var verdict: Verdict { .permanent }
        /// True if the server answered, nil if that is unknown.
        public var reachedService: Bool? { underlying.map { CallFailure($0).reachedService } ?? true }
        /// Always nil.
        public var retryAfter: Duration? { nil }

        public var description: String {
            "The request can't be repeated: its body can be read only once, and an attempt has read it. "
                + "Make a body for each attempt with the parameter `body` of `execute`."
        }
    }

    /// How the attempts of one call have used the request's body.
    struct SentBody {
        private let body: HTTPClientRequest.Body?
        private let makesBodies: Bool
        /// Whether an attempt may have begun to read the body.
        private var wasRead = false
        private var lastError: (any Error)?

        init(_ request: HTTPClientRequest, makesBodies: Bool) {
            body = request.body
            self.makesBodies = makesBodies
        }

        /// Whether the body can't be sent again.
        var isGone: Bool { wasRead && !makesBodies && !body.canBeReadAgain }

        mutating func noteResponse() {
            wasRead = true
            lastError = nil
        }

        /// The client reads the body only once it is connected.
        mutating func note(_ error: any Error) {
            lastError = error
            if RequestFailure(error)?.isUnsent != true { wasRead = true }
        }

        func checkRepeat() throws {
            if isGone { throw RequestBodyConsumed(underlying: lastError) }
        }

        /// The verdict, with the advice not to repeat if the body is gone.
        func advise(_ verdict: Verdict) -> Verdict {
            isGone ? verdict.withoutRetry : verdict
        }
    }

    extension HTTPClientRequest.Body? {
        /// Whether the client reads the body from its beginning each time. The client's own answer is internal, so this
        /// reads the body's stored form; false for an unknown form.
        var canBeReadAgain: Bool {
            guard let self else { return true }
            guard let mode = Mirror(reflecting: self).descendant("mode"),
                let form = Mirror(reflecting: mode).children.first
            else { return false }
            switch form.label {
            case "byteBuffer": return true
            case "sequence":
                return Mirror(reflecting: form.value).descendant("canBeConsumedMultipleTimes") as? Bool ?? false
            default: return false
            }
        }
    }
#endif
