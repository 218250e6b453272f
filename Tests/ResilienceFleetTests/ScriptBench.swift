#if Redis
    import Resilience
    import ResilienceTesting
    import TestServers
    import TestSupport

    @testable import ResilienceFleet

    /// A real server that runs our scripts with the test's clock, without waiting.
    final class ScriptBench: Sendable {
        let server: RedisServer
        private let connection: Locked<RedisConnection>
        private let hashes = Locked<[EngineScript: String]>([:])

        init() throws {
            server = try RedisServer()
            connection = Locked(try RedisConnection(to: .path(server.socket), until: .max))
        }

        func command(_ words: String...) throws -> RedisReply { try command(words) }

        func command(_ words: [String]) throws -> RedisReply {
            try connection.withLock { connection in
                try connection.send(RedisCommand.bytes(words), until: RedisConnection.now + 10_000_000_000)
                return try connection.receive(until: RedisConnection.now + 10_000_000_000)
            }
        }

        /// - Parameter time: In microseconds.
        func run(_ script: EngineScript, _ key: String, _ arguments: [String], at time: Int64) throws -> [Int64] {
            let known = hashes.withLock { $0[script] }
            let hash = try known ?? load(script)
            let reply = try command(["EVALSHA", hash, "1", key] + arguments + ["\(time)"])
            guard let words = reply.integers else { throw Strange(reply: reply) }
            return words
        }

        /// - Returns: The hash of the script with the test's clock.
        private func load(_ script: EngineScript) throws -> String {
            let source = script.source.replacing(
                "local time = redis.call('TIME')", with: "local time = {0, tonumber(ARGV[#ARGV])}")
            let reply = try command("SCRIPT", "LOAD", source)
            guard case .text(let hash) = reply else { throw Strange(reply: reply) }
            hashes.withLock { $0[script] = hash }
            return hash
        }

        struct Strange: Error { let reply: RedisReply }
    }

    /// The engine of a fleet in a simulation: a real server, on the simulation's clock.
    struct SimulatedEngine: ScriptEngine {
        let bench: ScriptBench
        let clock: ManualClock
        /// How long an answer takes.
        var latency = Duration.microseconds(500)
        /// Whether it leaves questions unanswered.
        var hangs = false
        /// Whether it runs scripts, but loses their answers.
        var losesAnswers: @Sendable () -> Bool = { false }
        /// How long a question travels, even if its caller gave up; nil for the usual time.
        var delaysQuestions: @Sendable () -> Duration? = { nil }
        var isUp: (@Sendable () -> Bool)?

        struct Down: Error {}

        func run(_ script: EngineScript, keys: [String], arguments: [String]) async throws -> [Int64] {
            try await clock.sleep(for: latency / 2)
            guard isUp?() ?? true else {
                // The engine also ignores cancellation.
                if hangs { await Task { try? await clock.sleep(for: .seconds(60)) }.value }
                throw Down()
            }
            if let delay = delaysQuestions() { await Task { try? await clock.sleep(for: delay) }.value }
            let words = try bench.run(script, keys[0], arguments, at: clock.now.nanoseconds / 1_000)
            try await clock.sleep(for: latency / 2)
            if losesAnswers() { throw Down() }
            return words
        }
    }
#endif
