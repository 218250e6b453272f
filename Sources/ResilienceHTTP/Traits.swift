// If a trait is missing, the compiler names the trait that an entry point needs. All entry points are here, because the
// compiler reports this only if everything else is right.

#if !HTTPTypes
    extension RequestSemantics {
        @available(*, unavailable, message: "Add the trait \"HTTPTypes\" to swift-resilience in your Package.swift.")
        public init<Request>(_ request: Request) { self.init(method: "") }
    }
#endif
