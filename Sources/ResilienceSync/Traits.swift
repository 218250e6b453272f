// Without its trait, the compiler names the trait that a name needs. Each entry point is here, because the compiler
// reports it only where everything else is right.

#if !SQLite
    // Another store, so that a queue can be given one.
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
