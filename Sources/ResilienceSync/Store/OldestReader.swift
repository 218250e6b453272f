/// Lets workers of an earlier version start beside tables that a later one has migrated, as long as they can use them.
///
/// A later version that only adds columns with defaults, tables, indexes and functions, and keeps the meaning of what was
/// there, stores the earliest version that can still be used. Of a version that stores none, all earlier ones keep away.
enum OldestReader {
    static let setting = "resilience_oldest_reader"

    /// - Parameter value: What is stored.
    static func admits(_ version: Int, _ value: String?) -> Bool {
        value.flatMap { Int($0) }.map { $0 <= version } ?? false
    }
}
