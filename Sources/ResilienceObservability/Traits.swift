// Without its trait, the compiler says which one a name needs. Each has what people write first: the compiler says it only where
// everything else is right.

#if !Logging
    @available(*, unavailable, message: "Add the trait \"Logging\" to swift-resilience in your Package.swift.")
    public struct PolicyLogger {
        public init(_ logger: Any) {}
    }
#endif

#if !Metrics
    @available(*, unavailable, message: "Add the trait \"Metrics\" to swift-resilience in your Package.swift.")
    public struct ResilienceMetrics {
        public init() {}
    }
#endif

#if !Tracing
    public import Resilience

    extension Pipeline {
        @available(*, unavailable, message: "Add the trait \"Tracing\" to swift-resilience in your Package.swift.")
        public func traced() -> Pipeline { self }
    }
#endif
