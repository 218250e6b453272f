// Without its trait, the compiler names the trait that a name needs. Each entry point is here, because the compiler
// reports it only where everything else is right.

#if !HTTPTypes
    extension RequestSemantics {
        @available(*, unavailable, message: "Add the trait \"HTTPTypes\" to swift-resilience in your Package.swift.")
        public init<Request>(_ request: Request) { self.init(method: "") }
    }
#endif
