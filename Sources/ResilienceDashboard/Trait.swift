// Without its trait, an entry point has an error that names the trait. All are here, because the compiler reports this
// error only where everything else is right.

#if !Dashboard
    @available(*, unavailable, message: "Add the trait \"Dashboard\" to swift-resilience in your Package.swift.")
    public struct DashboardConfiguration {
        public init(allowsActions: Bool = false) {}
    }
#endif
