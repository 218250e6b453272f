/// The names of a queue's tables and functions. Only they become part of a statement's text, so they are checked and
/// quoted.
struct PostgreSQLNames: Sendable, Hashable {
    let schema: String
    let queue: String

    init(schema: String, queue: String) throws(SyncQueueError) {
        for (what, name) in [("schema", schema), ("queue", queue)] {
            // Room for the longest suffix within PostgreSQL's 63 bytes.
            guard (1...40).contains(name.utf8.count), name.utf8.allSatisfy(Self.isAllowed),
                name.utf8.first.map({ !(UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) == true
            else {
                throw .unreadable(
                    path: "PostgreSQL",
                    reason: "The \(what)'s name must be 1 to 40 letters, digits and _, and not begin with a digit.")
            }
        }
        // The server reserves these.
        guard !schema.lowercased().hasPrefix("pg_") else {
            throw .unreadable(path: "PostgreSQL", reason: "The schema's name must not begin with pg_.")
        }
        self.schema = schema
        self.queue = queue
    }

    private static func isAllowed(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"):
            true
        default: false
        }
    }

    /// The queue's name in errors: it contains no secret.
    var path: String { "PostgreSQL \(schema).\(queue)" }

    /// The channel on which the queue's stores notify each other of changes.
    var channel: String { "resilience_\(String(schema.prefix(24)))_\(String(queue.prefix(24)))" }

    func callAsFunction(_ name: String) -> String { "\"\(schema)\".\"\(queue)_\(name)\"" }

    /// The name of an index. Indexes share their table's schema, and no table's name ends like this.
    func index(_ name: String) -> String { "\"\(queue)_\(name)_index\"" }
}
