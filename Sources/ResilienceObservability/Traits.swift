// Without its trait, an entry point has an error that names the trait. All are here, because the compiler reports this
// error only where everything else is right.

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
