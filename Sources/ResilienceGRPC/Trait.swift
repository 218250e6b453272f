// If a trait is missing, the compiler names the trait that an entry point needs. All entry points are here, because the
// compiler reports this error only for a use that has no other error.

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
