// Without its trait, the compiler says which one a name needs. Each has what people write first: the compiler says it only where
// everything else is right.

#if !GRPC
    public import Resilience

    @available(*, unavailable, message: "Add the trait \"GRPC\" to swift-resilience in your Package.swift.")
    public struct PipelineClientTransport {
        public init(_ base: Any, through pipeline: Pipeline) {}
    }

    @available(*, unavailable, message: "Add the trait \"GRPC\" to swift-resilience in your Package.swift.")
    public struct PipelineServerInterceptor {
        public init(through pipeline: Pipeline) {}
    }
#endif
