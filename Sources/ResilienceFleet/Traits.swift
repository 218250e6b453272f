// If a trait is missing, the compiler names the trait that an entry point needs. All entry points are here, because the
// compiler reports this error only for a use that has no other error.

#if !Redis
    @available(*, unavailable, message: "Add the trait \"Redis\" to swift-resilience in your Package.swift.")
    public struct RedisEngine: ScriptEngine {
        public init(host: String = "", port: UInt16 = 0, password: String? = nil) {}

        public func run(_ script: EngineScript, keys: [String], arguments: [String]) async throws -> [Int64] { [] }
    }
#endif
