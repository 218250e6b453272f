#if Redis
    import Foundation
    import Resilience
    import TestServers
    import TestSupport
    import Testing

    @testable import ResilienceFleet

    @Suite(.enabled(if: RedisServer.isInstalled, Comment(rawValue: RedisServer.isMissing)))
    struct RedisEngineTests {
        static func script(_ source: String, sha1: String = "0000000000000000000000000000000000000000") -> EngineScript
        {
            EngineScript(name: "test", sha1: sha1, source: source)
        }

        let echo = script("return {tonumber(ARGV[1]), #KEYS}")
        /// This is enough on a busy machine.
        let patience = Duration.seconds(20)

        @Test("a script that the server does not know is sent, even after the server forgot it")
        func unknown() async throws {
            let server = try RedisServer()
            let engine = RedisEngine(unixSocket: server.socket, timeout: patience)
            #expect(try await engine.run(echo, keys: ["a"], arguments: ["7"]) == [7, 1])
            let known = EngineScript.budget
            for _ in 0..<2 {
                let words = try await engine.run(
                    known, keys: ["b"], arguments: ["m", "10", "0", "1", "1", "1000", "0"])
                #expect(words.count == 3)
                let flush = Self.script("redis.call('SCRIPT', 'FLUSH') return {0}")
                _ = try? await engine.run(flush, keys: [], arguments: [])
            }
        }

        @Test("a thousand concurrent calls get their own answers")
        func volley() async throws {
            let server = try RedisServer()
            let engine = RedisEngine(unixSocket: server.socket, timeout: patience)
            try await withThrowingTaskGroup { group in
                for number in 0..<1_000 {
                    group.addTask {
                        let words = try await engine.run(echo, keys: ["a", "b"], arguments: ["\(number)"])
                        #expect(words == [Int64(number), 2])
                    }
                }
                try await group.waitForAll()
            }
        }

        @Test("the right password works; with a wrong one the error does not reveal it")
        func password() async throws {
            let server = try RedisServer(["--requirepass", "sesame"])
            let good = RedisEngine(unixSocket: server.socket, password: "sesame", database: 3, timeout: patience)
            #expect(try await good.run(echo, keys: [], arguments: ["1"]) == [1, 0])
            let bad = RedisEngine(unixSocket: server.socket, password: "Hunter2", timeout: patience)
            let error = await #expect(throws: RedisEngineError.self) {
                try await bad.run(echo, keys: [], arguments: ["1"])
            }
            #expect("\(error!)".contains("WRONGPASS"))
            #expect(!"\(error!) \(bad)".contains("Hunter2"))
            let none = RedisEngine(unixSocket: server.socket, timeout: patience)
            let refused = await #expect(throws: RedisEngineError.self) {
                try await none.run(echo, keys: [], arguments: ["1"])
            }
            #expect("\(refused!)".contains("NOAUTH"))
        }

        @Test("a killed server is unreachable; after a restart it is reached again")
        func restarted() async throws {
            let server = try RedisServer()
            let engine = RedisEngine(unixSocket: server.socket, timeout: patience)
            #expect(try await engine.run(echo, keys: [], arguments: ["1"]) == [1, 0])
            server.kill()
            for _ in 0..<2 {
                let error = await #expect(throws: RedisEngineError.self) {
                    try await engine.run(echo, keys: [], arguments: ["1"])
                }
                guard case .unreachable = error else {
                    Issue.record("\(error!)")
                    continue
                }
            }
            try server.restart()
            #expect(try await engine.run(echo, keys: [], arguments: ["2"]) == [2, 0])
        }

        @Test("a paused server fails the call in time, and its late answer reaches no other call")
        func paused() async throws {
            let server = try RedisServer()
            let engine = RedisEngine(unixSocket: server.socket, timeout: .milliseconds(200))
            // On a busy machine the first call may be late.
            while (try? await engine.run(echo, keys: [], arguments: ["1"])) == nil {}
            server.pause()
            await #expect(throws: RedisEngineError.self) { try await engine.run(echo, keys: [], arguments: ["2"]) }
            server.resume()
            var words: [Int64]?
            while words == nil { words = try? await engine.run(echo, keys: [], arguments: ["3"]) }
            #expect(words == [3, 0])
        }

        @Test("a server that became a replica is abandoned: the next call reconnects, and finds its successor")
        func failover() async throws {
            let (old, new) = (try RedisServer(), try RedisServer())
            let place = old.folder.appendingPathComponent("place").path
            try FileManager.default.createSymbolicLink(atPath: place, withDestinationPath: old.socket)
            let engine = RedisEngine(unixSocket: place, timeout: patience)
            let write = Self.script("redis.call('SET', KEYS[1], ARGV[1]) return {tonumber(ARGV[1])}")
            #expect(try await engine.run(write, keys: ["a"], arguments: ["1"]) == [1])
            // No server listens there.
            var connection = try RedisConnection(to: .path(old.socket), until: .max)
            try connection.send(RedisCommand.bytes(["REPLICAOF", "127.0.0.1", "1"]), until: .max)
            #expect(try connection.receive(until: .max) == .text("OK"))
            try FileManager.default.removeItem(atPath: place)
            try FileManager.default.createSymbolicLink(atPath: place, withDestinationPath: new.socket)
            let error = await #expect(throws: RedisEngineError.self) {
                try await engine.run(write, keys: ["a"], arguments: ["2"])
            }
            #expect("\(error!)".contains("READONLY"))
            #expect(try await engine.run(write, keys: ["a"], arguments: ["3"]) == [3])
        }

        @Test("the server's errors are thrown, and the connection serves the next call")
        func serverErrors() async throws {
            let server = try RedisServer()
            let engine = RedisEngine(unixSocket: server.socket, timeout: patience)
            for source in [
                "return redis.error_reply('OOM no room')", "this is no Lua", "return redis.call('HGET', KEYS[1])",
            ] {
                let error = await #expect(throws: RedisEngineError.self) {
                    try await engine.run(Self.script(source), keys: ["a"], arguments: [])
                }
                guard case .rejected = error else {
                    Issue.record("\(error!)")
                    continue
                }
            }
            for source in ["return 'text'", "return {1, 'text'}", "return {}", "return false"] {
                let words = try? await engine.run(Self.script(source), keys: [], arguments: [])
                #expect(words == nil || words == [])
            }
            #expect(try await engine.run(echo, keys: [], arguments: ["4"]) == [4, 0])
        }

        @Test(
            "a malformed answer fails only its call",
            arguments: [
                "", "+", "hello\r\n", "*3\r\n:1\r\n:2\r\n", "*-7\r\n", "*99999999999999999999\r\n", ":12x\r\n",
                "$5\r\nab",
                "$-9\r\n", "-LOADING Redis is loading the dataset in memory\r\n", "-MOVED 3999 127.0.0.1:6381\r\n",
                "-READONLY You can't write against a read only replica.\r\n",
                "*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n:1\r\n",
                "*2147483647\r\n", "$536870911\r\n", "\0\0\0\0", String(repeating: ":1\r\n", count: 10_000),
                "+" + String(repeating: "x", count: 2_000_000),
            ])
        func nonsense(answer: String) async throws {
            let server = try NonsenseServer(answer: answer)
            let engine = RedisEngine(unixSocket: server.path, timeout: patience)
            for _ in 0..<2 {
                await #expect(throws: (any Error).self) { try await engine.run(echo, keys: ["a"], arguments: ["1"]) }
            }
            server.stop()
        }

        @Test("an invalid address or an overlong path is reported")
        func unreachable() async throws {
            for engine in [
                RedisEngine(unixSocket: "/nowhere/\(String(repeating: "x", count: 200))", timeout: patience),
                RedisEngine(unixSocket: "/nowhere/at\0all", timeout: patience),
                RedisEngine(host: "127.0.0.1", port: 1, timeout: patience),
                RedisEngine(host: "", port: 1, timeout: patience),
            ] {
                let error = await #expect(throws: RedisEngineError.self) {
                    try await engine.run(echo, keys: [], arguments: [])
                }
                guard case .unreachable = error else {
                    Issue.record("\(error!)")
                    continue
                }
            }
        }
    }

    /// Answers every request with the same bytes, and closes.
    private final class NonsenseServer: Sendable {
        let path = "/tmp/n\(UInt64.random(in: .min ... .max))"
        private let socket: Int32

        init(answer: String) throws {
            #if canImport(Glibc)
                let kind = Int32(SOCK_STREAM.rawValue)
            #else
                let kind = SOCK_STREAM
            #endif
            let socket = Foundation.socket(AF_UNIX, kind, 0)
            self.socket = socket
            var address = sockaddr_un()
            address.sun_family = sa_family_t(AF_UNIX)
            withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: Array(path.utf8)) }
            let result = withUnsafePointer(to: address) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    bind(socket, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
                }
            }
            guard result == 0, listen(socket, 5) == 0 else { throw CocoaError(.fileNoSuchFile) }
            let thread = Thread {
                while case let connection = accept(socket, nil, nil), connection >= 0 {
                    var buffer = [UInt8](repeating: 0, count: 65_536)
                    _ = recv(connection, &buffer, buffer.count, 0)
                    var rest = Array(answer.utf8)[...]
                    while !rest.isEmpty {
                        let sent = rest.withUnsafeBytes {
                            send(connection, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
                        }
                        guard sent > 0 else { break }
                        rest = rest.dropFirst(sent)
                    }
                    close(connection)
                }
            }
            thread.start()
        }

        func stop() {
            shutdown(socket, Int32(SHUT_RDWR))
            close(socket)
            unlink(path)
        }
    }
#endif
