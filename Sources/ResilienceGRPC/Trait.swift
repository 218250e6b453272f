// Without its trait, the compiler names the trait that a name needs. Each entry point is here, because the compiler
// reports it only where everything else is right.

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
