// Without its trait, the compiler says which one a name needs. Each has what people write first: the compiler says it only where
// everything else is right.

#if !StubServer
    @available(*, unavailable, message: "Add the trait \"StubServer\" to swift-resilience in your Package.swift.")
    public struct StubServer {
        public static func start() async throws -> StubServer { StubServer() }
    }
#endif
