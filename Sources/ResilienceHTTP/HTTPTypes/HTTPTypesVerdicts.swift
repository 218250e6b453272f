#if HTTPTypes
    public import HTTPTypes
    public import Resilience

    // Several fields of one name are one field whose value is their list, joined by commas (RFC 9110 §5.3);
    // `HTTPFields` reads them so. So a list, such as RateLimit, is read as a whole. A list in a field for one value,
    // such as Retry-After, is ignored.

    extension RequestSemantics {
        /// The method of a request, and whether it has an `Idempotency-Key` field that is not blank.
        ///
        /// - Parameter request: The request.
        public init(_ request: HTTPRequest) {
            let key = FieldCursor(request.headerFields.value("idempotency-key") ?? "")
            self.init(method: request.method.rawValue, hasIdempotencyKey: !key.isAtEnd)
        }
    }

    extension HTTPResponse {
        /// The verdict of this response: see `Verdict.init(httpStatus:for:remark:dialect:now:header:)`.
        ///
        /// ```swift
        /// let semantics = RequestSemantics(request)
        /// let (response, body) = try await pipeline.run(
        ///     judging: { $0.0.verdict(for: semantics) }
        /// ) {
        ///     try await client.send(request)
        /// }
        /// ```
        ///
        /// - Parameters:
        ///   - request: The request that was answered.
        ///   - remark: The remark in the body, if you read it; nil by default.
        ///   - dialect: The format in which the server states its limits.
        ///   - now: The wall clock in seconds since 1970, as for ``RetryAfter``; nil, the default, reads the machine's
        ///     clock.
        /// - Returns: The verdict.
        public func verdict(
            for request: RequestSemantics, remark: ServerRemark? = nil, dialect: RateLimitDialect = .automatic,
            now: Int64? = nil
        ) -> Verdict {
            Verdict(httpStatus: status.code, for: request, remark: remark, dialect: dialect, now: now) {
                headerFields.value($0)
            }
        }
    }

    extension RateLimitFields {
        /// Reads the fields of a response.
        ///
        /// - Parameters:
        ///   - fields: The fields of the response.
        ///   - dialect: The format in which the server states its limits.
        ///   - now: The wall clock in seconds since 1970, as for ``RetryAfter``; nil, the default, reads the machine's
        ///     clock.
        public init(_ fields: HTTPFields, dialect: RateLimitDialect = .automatic, now: Int64? = nil) {
            self.init(dialect: dialect, now: now) { fields.value($0) }
        }
    }

    extension DeadlineField {
        /// Returns the deadline in a request: see ``deadline(atMost:on:header:)``.
        ///
        /// - Parameters:
        ///   - fields: The fields of the request.
        ///   - limit: The longest time that a client may ask for; nil, the default, for no limit.
        ///   - timeBase: The time base of the deadline.
        /// - Returns: nil if the request has no readable time, and there is no limit.
        public func deadline(
            of fields: HTTPFields, atMost limit: Duration? = nil, on timeBase: any TimeBase = .system
        ) -> CallDeadline? {
            deadline(atMost: limit, on: timeBase) { fields.value($0) }
        }
    }

    extension OriginFields {
        /// Returns the priority and the attempt of a request: see ``origin(atMost:header:)``.
        ///
        /// - Parameters:
        ///   - fields: The fields of the request.
        ///   - highest: The highest priority that a client may ask for. nil, the default, for any.
        public func origin(of fields: HTTPFields, atMost highest: CallPriority? = nil) -> CallOrigin {
            origin(atMost: highest) { fields.value($0) }
        }
    }

    extension HTTPEndpoint {
        /// Creates the key of a request.
        ///
        /// - Parameters:
        ///   - request: The request. Its path is not used, since it holds identifiers. A port that is not a number
        ///     from 0 to 65535 counts as none.
        ///   - template: The template of the path, such as `/users/{id}`. Empty, the default, for the whole host.
        public init(_ request: HTTPRequest, template: String = "") {
            self.init(scheme: request.scheme ?? "", authority: request.authority ?? "", template: template)
        }
    }

    extension PolicyRegistry where Key == HTTPEndpoint {
        /// The value for the endpoint of a request, made now if there is none.
        ///
        /// Counts as a use of the key.
        ///
        /// - Parameters:
        ///   - request: The request. Its path is not used, since it holds identifiers.
        ///   - template: The template of the path, such as `/users/{id}`. Empty, the default, for the whole host.
        public subscript(request request: HTTPRequest, template template: String = "") -> Value {
            self[HTTPEndpoint(request, template: template)]
        }
    }

    extension HTTPFields {
        /// The values of all fields of a name, joined by commas; nil if there are none.
        fileprivate func value(_ name: String) -> String? { HTTPField.Name(name).flatMap { self[$0] } }
    }
#endif
