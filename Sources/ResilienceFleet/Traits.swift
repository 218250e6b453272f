// Without its trait, the compiler names the trait that a name needs. Each entry point is here, because the compiler
// reports it only where everything else is right.

#if !Redis
    @available(*, unavailable, message: "Add the trait \"Redis\" to swift-resilience in your Package.swift.")
    public struct RedisEngine: ScriptEngine {
        public init(host: String = "", port: UInt16 = 0, password: String? = nil) {}

        public func run(_ script: EngineScript, keys: [String], arguments: [String]) async throws -> [Int64] { [] }
    }
#endif
