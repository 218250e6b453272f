/// A script that an engine runs atomically, in the Lua 5.1 of Redis and Valkey.
///
/// It changes only its keys, answers with integers, and does a bounded amount of work.
public struct EngineScript: Sendable, Hashable {
    /// The script's name in errors.
    public let name: String
    /// The SHA-1 of the source, in lower-case hexadecimal digits, for `EVALSHA`.
    public let sha1: String
    /// The source.
    public let source: String

    init(name: String, sha1: String, source: String) {
        self.name = name
        self.sha1 = sha1
        self.source = source
    }
}

extension EngineScript {
    static let throttle = EngineScript(
        "throttle", sha1: "0460d9ce40753117b4b45bc768d2144896264bc3", PackageResources.throttle_lua)
    static let breaker = EngineScript(
        "breaker", sha1: "ab292840ba0f27e5c2530f2ddb09a3d2c6951fcb", PackageResources.breaker_lua)
    static let bulkhead = EngineScript(
        "bulkhead", sha1: "2daa1e30ffb2317b0c604629f6677e5bfe92205f", PackageResources.bulkhead_lua)
    static let budget = EngineScript(
        "budget", sha1: "5373e9be01b8d24694eb5ed0bef100a8053040c0", PackageResources.budget_lua)

    /// A script in a file beside its policy.
    private init(_ name: String, sha1: String, _ file: [UInt8]) {
        self.init(name: name, sha1: sha1, source: String(decoding: file, as: UTF8.self))
    }
}
