#if HTTPTypes
    public import HTTPTypes
    public import Resilience

    extension FailureResponse {
        /// The fields of the response, for servers that use swift-http-types.
        public var httpFields: HTTPFields { HTTPFields(ours: fields) }

        /// The status, for servers that use swift-http-types.
        ///
        /// A status below 100 or above 599 counts as 500.
        public var httpStatus: HTTPResponse.Status {
            (100...599).contains(status)
                ? HTTPResponse.Status(code: status, reasonPhrase: phrase ?? "") : .internalServerError
        }
    }

    extension HTTPFields {
        /// Creates fields from our own, whose names are valid and all different.
        package init(ours fields: [(name: String, value: String)]) {
            self.init()
            for (name, value) in fields {
                if let name = HTTPField.Name(name) { append(HTTPField(name: name, value: value)) }
            }
        }
    }

    extension HTTPResponse {
        /// Creates the head of a failure's response.
        ///
        /// - Parameter failure: The status and the fields.
        public init(_ failure: FailureResponse) {
            self.init(status: failure.httpStatus, headerFields: failure.httpFields)
        }

        /// Creates the head of the response to a request that the service's own policies rejected, without a body: see
        /// ``FailureResponse/init(rejecting:limitsClient:)``.
        ///
        /// - Parameters:
        ///   - failure: The failure of the pipeline around the service's own work.
        ///   - limitsClient: Whether a throttle of that pipeline counts the requests of one client alone. True by
        ///     default.
        public init(rejecting failure: CallFailure, limitsClient: Bool = true) {
            var response = FailureResponse(rejecting: failure, limitsClient: limitsClient)
            response.hasBody = false
            self.init(response)
        }

        /// Creates the head of the response to a request whose call to another service failed, without a body: see
        /// ``FailureResponse/init(upstream:)``.
        ///
        /// - Parameter failure: The failure of the pipeline around the call.
        public init(upstream failure: CallFailure) {
            var response = FailureResponse(upstream: failure)
            response.hasBody = false
            self.init(response)
        }
    }
#endif
