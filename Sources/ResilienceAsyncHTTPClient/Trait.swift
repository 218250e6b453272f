// Without its trait, the compiler names the trait that a name needs. Each entry point is here, because the compiler
// reports it only where everything else is right.

#if !AsyncHTTPClient
    public import Resilience

    @available(*, unavailable, message: "Add the trait \"AsyncHTTPClient\" to swift-resilience in your Package.swift.")
    public struct ResilientHTTPClient {
        public init(_ client: Any, pipeline: Pipeline) {}
    }
#endif
