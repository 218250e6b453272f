#if SQLite
    import Foundation
    import KilledProgram
    import Resilience
    import ResilienceSync
    import ResilienceTesting

    /// Repeatedly kills a program with SIGKILL at a random moment while it fills and flushes a queue, over one
    /// database. Then checks what the server has seen: no mutation is lost, no effect is doubled, and each entity's
    /// order is kept. Every second round runs two programs at once: the survivor must not send what the other has
    /// already sent.
    ///
    /// `crash 500 7` kills 500 times, with seed 7. This process is the server, and pipes are the network: they can also
    /// break at any byte. In `crash pill`, a program crashes whenever it sends one certain mutation of 301.
    @main
    enum Crash {
        static func main() async throws {
            let arguments = CommandLine.arguments
            if arguments.count == 4, arguments[1] == "live" {
                // With this signal ignored, the program notices a dead server because it gets no answer.
                signal(SIGPIPE, SIG_IGN)
                return try await Life(database: arguments[2], number: Int(arguments[3])).run()
            }
            let isPill = arguments.dropFirst() == ["pill"]
            let kills = arguments.count > 1 && !isPill ? Int(arguments[1]) : 500
            let seed = arguments.count > 2 ? UInt64(arguments[2]) : 1
            guard let kills, kills >= 0, let seed else {
                FileHandle.standardError.write(Data("usage: crash [kills] [seed] | pill\n".utf8))
                exit(64)
            }
            signal(SIGPIPE, SIG_IGN)
            let folder = FileManager.default.temporaryDirectory.appending(path: "crash-\(UUID().uuidString)")
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            defer { try? FileManager.default.removeItem(at: folder) }
            let database = folder.appending(path: "queue.sqlite").path
            if isPill {
                let (verdict, isFine) = try await PoisonPill().run(
                    try SQLiteStore(path: database), workers: 1, ["live", database, "none"])
                print(verdict)
                if !isFine { exit(1) }
                return
            }
            let server = LedgerServer(seed: seed)
            var generator = SeededGenerator(seed: seed)
            for life in 0..<kills {
                // The moments reach from before the database opens until well into the flush.
                let moments = (0...life % 2).map { _ in
                    Duration.milliseconds(Int.random(in: 0...120, using: &generator))
                }
                try await server.serve(database, killedAfter: moments)
                if life % 10 == 5 { try await server.serve(database, killedAfter: [nil, nil]) }
            }
            try await server.serve(database, killedAfter: [nil, nil])
            let verdict = server.verdict()
            print("\(kills) kills: \(verdict)")
            if !verdict.isFine { exit(1) }
        }
    }
#else
    import Foundation

    @main
    enum Crash {
        static func main() {
            FileHandle.standardError.write(Data("crash needs the SQLite trait: swift run --traits SQLite crash\n".utf8))
            exit(1)
        }
    }
#endif
