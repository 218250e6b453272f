// Without its trait, the compiler says which one a name needs. Each has what people write first: the compiler says it only where
// everything else is right.

#if !HTTPTypes
    extension RequestSemantics {
        @available(*, unavailable, message: "Add the trait \"HTTPTypes\" to swift-resilience in your Package.swift.")
        public init<Request>(_ request: Request) { self.init(method: "") }
    }
#endif
