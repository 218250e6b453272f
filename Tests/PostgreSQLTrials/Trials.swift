#if PostgreSQL
    import Foundation
    import KilledProgram
    import PostgreSQLServer
    import Resilience
    import ResilienceSync
    import ResilienceTesting

    /// Trials of the queue on PostgreSQL, against a server of its own.
    ///
    /// `postgresql-trials kills 200 7`: four worker processes enqueue and send over one table. The trial kills one of
    /// them at a random moment, 200 times, with seed 7. It checks what the other side has seen: no mutation is lost, no
    /// effect is doubled, and each entity's order is kept. This process is the other side, and pipes are the network.
    ///
    /// `postgresql-trials pill`: each of three such workers crashes whenever it sends one certain mutation of 301.
    ///
    /// `postgresql-trials drain 1000000 100000` fills a queue with this many mutations of this many entities, and
    /// drains it with four workers. Then it drains as many rows by hand, with `SELECT … FOR UPDATE SKIP LOCKED`. A
    /// third number gives the batch size.
    ///
    /// `postgresql-trials followers 50 30`: 50 queues follow an idle store for 30 seconds, and then mutations come.
    ///
    /// `postgresql-trials operator 1000000 100000`: an operator retries, clears, discards and then drains this many
    /// mutations of this many entities. Meanwhile another program enqueues, and the statistics are those of empty
    /// tables. `operator-sqlite` does the same over a file.
    func say(_ line: String) { FileHandle.standardOutput.write(Data("\(line)\n".utf8)) }

    @main
    enum Trials {
        static func main() async throws {
            let arguments = CommandLine.arguments
            let numbers = arguments.dropFirst(2).map { Int($0) }
            switch arguments.dropFirst().first {
            case "live" where arguments.count == 5:
                signal(SIGPIPE, SIG_IGN)
                return try await Life(connection: arguments[2], schema: arguments[3], number: Int(arguments[4])).run()
            case "pill" where numbers.isEmpty:
                signal(SIGPIPE, SIG_IGN)
                let server = try PostgreSQLServer()
                let store = try await PostgreSQLStore(try PostgreSQLEngine(server.connection), schema: "trial")
                let (verdict, isFine) = try await PoisonPill().run(
                    store, workers: 3, ["live", server.connection, "trial", "none"])
                say(verdict)
                _ = server
                if !isFine { exit(1) }
            case "kills" where !numbers.contains(nil):
                let kills = numbers.first.flatMap(\.self) ?? 200
                try await Kills(count: max(kills, 0), seed: UInt64(numbers.dropFirst().first.flatMap(\.self) ?? 1))
                    .run()
            case "drain" where !numbers.contains(nil):
                let count = max(numbers.first.flatMap(\.self) ?? 1_000_000, 1)
                let entities = max(numbers.dropFirst().first.flatMap(\.self) ?? count / 10, 1)
                let batch = max(numbers.dropFirst(2).first.flatMap(\.self) ?? 100, 1)
                try await Drain(count: count, entities: entities, batch: batch).run()
            case "followers" where !numbers.contains(nil):
                let count = max(numbers.first.flatMap(\.self) ?? 50, 1)
                try await Followers(count: count, seconds: max(numbers.dropFirst().first.flatMap(\.self) ?? 30, 1))
                    .run()
            case let mode? where mode.hasPrefix("operator") && !numbers.contains(nil):
                let count = max(numbers.first.flatMap(\.self) ?? 1_000_000, 1)
                let entities = max(numbers.dropFirst().first.flatMap(\.self) ?? count / 10, 1)
                let trial = Operator(count: count, entities: entities)
                #if SQLite && os(Linux)
                    if mode == "operator-sqlite" { return try await trial.sqlite() }
                #endif
                try await trial.postgreSQL()
            default:
                FileHandle.standardError.write(
                    Data(
                        """
                        usage: postgresql-trials kills [kills] [seed] | pill | drain [rows] [entities] [batch] \
                        | followers [queues] [seconds] | operator [rows] [entities] \
                        | operator-sqlite [rows] [entities]

                        """.utf8))
                exit(64)
            }
        }
    }
#else
    import Foundation

    @main
    enum Trials {
        static func main() {
            let message =
                "postgresql-trials needs the PostgreSQL trait: swift run --traits PostgreSQL postgresql-trials\n"
            FileHandle.standardError.write(Data(message.utf8))
            exit(1)
        }
    }
#endif
