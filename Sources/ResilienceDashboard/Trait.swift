// Without its trait, the compiler names the trait that a name needs. Each entry point is here, because the compiler
// reports it only where everything else is right.

#if !Dashboard
    @available(*, unavailable, message: "Add the trait \"Dashboard\" to swift-resilience in your Package.swift.")
    public struct DashboardConfiguration {
        public init(allowsActions: Bool = false) {}
    }
#endif
