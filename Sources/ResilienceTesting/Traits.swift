// Without its trait, the compiler names the trait that a name needs. Each entry point is here, because the compiler
// reports it only where everything else is right.

#if !StubServer
    @available(*, unavailable, message: "Add the trait \"StubServer\" to swift-resilience in your Package.swift.")
    public struct StubServer {
        public static func start() async throws -> StubServer { StubServer() }
    }
#endif
