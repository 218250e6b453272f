/// Lets workers of an earlier version use tables that a later version has migrated, if they are compatible.
///
/// If a later version only adds columns with defaults, tables, indexes and functions, and keeps the meaning of the
/// existing ones, it stores the earliest version that is compatible. If none is stored, no earlier version uses the
/// tables.
enum OldestReader {
    static let setting = "resilience_oldest_reader"

    /// - Parameter value: The stored value.
    static func admits(_ version: Int, _ value: String?) -> Bool {
        value.flatMap { Int($0) }.map { $0 <= version } ?? false
    }
}
