// If a name's trait is missing, the compiler's error names the trait. This needs the signatures of all entry points:
// the compiler reports this error only for a use that has no other error.

#if !SQLite
    // An alias of another store, so that a queue accepts it.
    @available(*, unavailable, message: "Add the trait \"SQLite\" to swift-resilience in your Package.swift.")
    public typealias SQLiteStore = MemoryStore

    extension MemoryStore {
        @available(*, unavailable, message: "Add the trait \"SQLite\" to swift-resilience in your Package.swift.")
        public convenience init(path: String) { self.init() }

        @available(*, unavailable, message: "Add the trait \"SQLite\" to swift-resilience in your Package.swift.")
        public convenience init(in database: Any) { self.init() }
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
