// Without its trait, the compiler says which one a name needs. Each has what people write first: the compiler says it only where
// everything else is right.

#if !Dashboard
    @available(*, unavailable, message: "Add the trait \"Dashboard\" to swift-resilience in your Package.swift.")
    public struct DashboardConfiguration {
        public init(allowsActions: Bool = false) {}
    }
#endif
