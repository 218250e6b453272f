#if Hummingbird
    public import Hummingbird
    public import Resilience

    // The text of a failed request in logs and spans: its status, or the policies' error.

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
