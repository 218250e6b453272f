// Without its trait, the compiler says which one a name needs. Each has what people write first: the compiler says it only where
// everything else is right.

#if !SQLite
    @available(*, unavailable, message: "Add the trait \"SQLite\" to swift-resilience in your Package.swift.")
    public struct SQLiteStore {
        public init(path: String) {}
        public init(in database: Any) {}
        public static func temporary() -> SQLiteStore { SQLiteStore(path: "") }
    }
#endif

#if !PostgreSQL
    @available(*, unavailable, message: "Add the trait \"PostgreSQL\" to swift-resilience in your Package.swift.")
    public struct PostgreSQLEngine {
        public init(_ connection: String) {}
    }
#endif

#if !ServiceLifecycle
    @available(*, unavailable, message: "Add the trait \"ServiceLifecycle\" to swift-resilience in your Package.swift.")
    public struct SyncService {
        public init(_ queue: SyncQueue) {}
    }
#endif
