// Without its trait, each entry point is declared here as unavailable, with an error that names the trait. All entry
// points are here, because the compiler reports this error only for a use that has no other error.

#if !Configuration
    public import Resilience

    @available(*, unavailable, message: "Add the trait \"Configuration\" to swift-resilience in your Package.swift.")
    public struct ConfiguredPipelines {
        public init(_ names: [String] = [], reader: Any, observers: PolicyObservers? = nil) {}
        public init(_ names: [String] = [], file path: String, observers: PolicyObservers? = nil) {}
    }

    @available(*, unavailable, message: "Add the trait \"Configuration\" to swift-resilience in your Package.swift.")
    public struct ConfigurationEvent {
    }
#endif

#if !Configuration || !ServiceLifecycle
    @available(
        *, unavailable,
        message: "Add the traits \"Configuration\" and \"ServiceLifecycle\" to swift-resilience in your Package.swift."
    )
    public struct ConfigurationService {
        public init(_ pipelines: Any) {}
    }
#endif
