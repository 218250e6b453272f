// If a trait is missing, the compiler names the trait that an entry point needs. All entry points are here, because the
// compiler reports this error only for a use that has no other error.

#if !Hummingbird
    public import Resilience

    @available(*, unavailable, message: "Add the trait \"Hummingbird\" to swift-resilience in your Package.swift.")
    public struct ResilienceMiddleware {
        public init(_ pipeline: Pipeline) {}
    }

    @available(*, unavailable, message: "Add the trait \"Hummingbird\" to swift-resilience in your Package.swift.")
    public struct CallFailureMiddleware {
        public init() {}
    }

    @available(*, unavailable, message: "Add the trait \"Hummingbird\" to swift-resilience in your Package.swift.")
    public struct ThrottleMiddleware {
        public init(limit: ThrottleLimit, key: (Any, Any) -> String?) {}
    }

    @available(*, unavailable, message: "Add the trait \"Hummingbird\" to swift-resilience in your Package.swift.")
    public struct CallDeadlineMiddleware {
        public init(default standard: Duration? = nil) {}
    }

    @available(*, unavailable, message: "Add the trait \"Hummingbird\" to swift-resilience in your Package.swift.")
    public struct CallOriginMiddleware {
        public init() {}
    }

    @available(*, unavailable, message: "Add the trait \"Hummingbird\" to swift-resilience in your Package.swift.")
    public struct AddressRequestContext {
    }

    @available(*, unavailable, message: "Add the trait \"Hummingbird\" to swift-resilience in your Package.swift.")
    public struct ClientKey {
    }
#endif
