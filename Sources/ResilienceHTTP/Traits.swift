// If a trait is missing, the compiler names the trait that an entry point needs. All entry points are here, because the
// compiler reports this error only for a use that has no other error.

#if !HTTPTypes
    extension RequestSemantics {
        @available(*, unavailable, message: "Add the trait \"HTTPTypes\" to swift-resilience in your Package.swift.")
        public init<Request>(_ request: Request) { self.init(method: "") }
    }
#endif
