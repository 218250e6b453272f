// Without its trait, the compiler says which one a name needs. Each has what people write first: the compiler says it only where
// everything else is right.

#if !AsyncHTTPClient
    public import Resilience

    @available(*, unavailable, message: "Add the trait \"AsyncHTTPClient\" to swift-resilience in your Package.swift.")
    public struct ResilientHTTPClient {
        public init(_ client: Any, pipeline: Pipeline) {}
    }
#endif
