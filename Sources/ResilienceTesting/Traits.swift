// If a trait is missing, the compiler names the trait that an entry point needs. All entry points are here, because the
// compiler reports this error only for a use that has no other error.

#if !StubServer
    @available(*, unavailable, message: "Add the trait \"StubServer\" to swift-resilience in your Package.swift.")
    public struct StubServer {
        public static func start() async throws -> StubServer { StubServer() }
    }
#endif
