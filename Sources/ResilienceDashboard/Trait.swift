// Without its trait, each entry point is declared here as unavailable, with an error that names the trait. All entry
// points are here, because the compiler reports this error only for a use that has no other error.

#if !Dashboard
    @available(*, unavailable, message: "Add the trait \"Dashboard\" to swift-resilience in your Package.swift.")
    public struct DashboardConfiguration {
        public init(allowsActions: Bool = false) {}
    }
#endif
