/// The storage of a ``Fleet``'s shared state: a server that runs scripts atomically, such as Redis or Valkey.
///
/// ``RedisEngine`` conforms to it, behind the trait `Redis`. Your own client needs a dozen lines:
///
/// ```swift
/// struct ValkeyEngine: ScriptEngine {
///     let client: ValkeyClient
///
///     func run(_ script: EngineScript, keys: [String], arguments: [String]) async throws -> [Int64] {
///         do {
///             return try await client.evalsha(…script.sha1, keys, arguments).decode(as: [Int64].self)
///         } catch let error as ValkeyClientError where error.message?.hasPrefix("NOSCRIPT") == true {
///             return try await client.eval(…script.source, keys, arguments).decode(as: [Int64].self)
///         }
///     }
/// }
/// ```
public protocol ScriptEngine: Sendable {
    /// Runs a script.
    ///
    /// Runs it once at most: a call without an answer may have run, so it is not repeated; only an explicit `NOSCRIPT`
    /// means that it did not run. Ends soon after its task is cancelled.
    ///
    /// - Parameters:
    ///   - script: The script. Run it by its hash, and send its source if the engine does not know the hash.
    ///   - keys: The keys that it reads and changes: one key, in one slot of a cluster.
    ///   - arguments: Its other arguments.
    /// - Returns: The integers of its answer.
    /// - Throws: Any error, if the engine can't be reached, does not answer, or answers with an error.
    func run(_ script: EngineScript, keys: [String], arguments: [String]) async throws -> [Int64]
}
