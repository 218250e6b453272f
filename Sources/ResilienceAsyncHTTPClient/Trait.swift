// If a trait is missing, the compiler names the trait that an entry point needs. All entry points are here, because the
// compiler reports this error only for a use that has no other error.

#if !AsyncHTTPClient
    public import Resilience

    @available(*, unavailable, message: "Add the trait \"AsyncHTTPClient\" to swift-resilience in your Package.swift.")
    public struct ResilientHTTPClient {
        public init(_ client: Any, pipeline: Pipeline) {}
    }
#endif
