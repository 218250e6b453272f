#if Hummingbird
    public import Hummingbird
    public import Resilience

    // What logs and spans say of a failed request: its status, or what the policies failed it with.

    extension Response: FailureDescribing {
        public var failureDetail: FailureDetail { FailureDetail("Response", status: status.code) }
    }

    extension HTTPError: FailureDescribing {
        public var failureDetail: FailureDetail { FailureDetail("HTTPError", status: status.code) }
    }

    extension FailedRequest: FailureDescribing {
        public var failureDetail: FailureDetail { FailureDetail(of: failure.error) }
    }

    extension ErrorWithFields: FailureDescribing {
        var failureDetail: FailureDetail { FailureDetail(of: origin) }
    }
#endif
