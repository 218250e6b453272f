// Without its trait, each entry point is declared here as unavailable, with an error that names the trait. All entry
// points are here, because the compiler reports this error only for a use that has no other error.

#if !Logging || !Metrics || !Tracing
    public import Resilience
#endif

#if !Logging
    @available(*, unavailable, message: "Add the trait \"Logging\" to swift-resilience in your Package.swift.")
    public struct PolicyLogger: PolicyObserver {
        public init(_ logger: Any) {}
        public func receive(_ event: PolicyEvent) {}
    }
#endif

#if !Metrics
    @available(*, unavailable, message: "Add the trait \"Metrics\" to swift-resilience in your Package.swift.")
    public struct ResilienceMetrics: PolicyObserver {
        public init() {}
        public func receive(_ event: PolicyEvent) {}
    }
#endif

#if !Tracing
    extension Pipeline {
        @available(*, unavailable, message: "Add the trait \"Tracing\" to swift-resilience in your Package.swift.")
        public func traced() -> Pipeline { self }
    }
#endif
