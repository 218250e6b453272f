/// A script that an engine runs atomically, in Lua 5.1 as Redis and Valkey have it.
///
/// It changes only what its keys name, answers with integers, and does a bounded amount of work.
public struct EngineScript: Sendable, Hashable {
    /// What it is for, in errors.
    public let name: String
    /// The SHA-1 of the source, in lower-case hexadecimal digits: what `EVALSHA` takes.
    public let sha1: String
    /// The source.
    public let source: String

    init(name: String, sha1: String, source: String) {
        self.name = name
        self.sha1 = sha1
        self.source = source
    }
}
