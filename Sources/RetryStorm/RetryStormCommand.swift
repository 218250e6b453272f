#if Demo
    import ArgumentParser
    import Foundation

    @main
    struct RetryStormCommand: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "retry-storm",
            abstract: "Drains a backlog of mutations against a server with a rate limit, twice.",
            discussion: """
                First as an app did that made a storm of it: every request retried three times, every mutation five \
                times, nobody pausing for anybody else. Then through the toolkit. Each run has a real HTTP server on \
                loopback of its own. Ends with a table of both.

                Exit status: 0 everything delivered by the toolkit; 1 something was not, and is kept in the database; \
                64 wrong options; 65 a bad line in the input; 130 interrupted.
                """)

        @Option(parsing: .unconditional, help: "How many mutations to make up, 0 to 1000000. (default: 1000)")
        var mutations: Int?

        @Option(parsing: .unconditional, help: "Requests a second that the server admits, 1 to 1000000. (default: 25)")
        var rate: Int?

        @Option(
            parsing: .unconditional,
            help: "Requests that the server admits at once after a quiet time, 1 to 1000000. (default: the rate)")
        var burst: Int?

        @Option(
            help: ArgumentHelp(
                "Mutations to drain instead of made-up ones: JSON Lines, each with id, entity, kind and payload.",
                valueName: "file"))
        var input: String?

        @Option(
            help: ArgumentHelp(
                "Drain against this server instead of our own, through the toolkit unless \"--only naive\" asks for a storm. A mutation is one POST of its payload, with an Idempotency-Key; any 2xx acknowledges it.",
                valueName: "address"))
        var url: String?

        @Option(
            help: ArgumentHelp(
                "Keep the queue in this file. If it has mutations, pending or dead, they are drained and no others added.",
                valueName: "file"))
        var database: String?

        @Option(parsing: .unconditional, help: "What the made-up mutations are made from.")
        var seed: UInt64 = 1

        @Option(
            parsing: .unconditional, help: "What the waits of the naive run are multiplied by, above 0 and up to 100.")
        var timeScale: Double = 1

        @Option(help: "Run only one of the two. The naive one works on a copy and leaves the database as it is.")
        var only: Plan.Run?

        @Option(
            help: ArgumentHelp(
                "Write the requests of each second as an SVG to this file, and a version for dark pages beside it.",
                valueName: "file"))
        var picture: String?

        @Flag(help: "Print the result as one JSON object; everything else goes to standard error.")
        var json = false

        func validate() throws { _ = try plan }

        func run() async throws {
            let plan = try plan
            let console = Console(standardError: json)
            do {
                let report = try await cancelledByInterrupts {
                    try await Storm(plan: plan, console: console).run()
                }
                if json {
                    Console.result(try report.result.json)
                } else {
                    let table = Table(report: report.result)
                    Console.result("\n\(table)\n\n\(table.conclusion)")
                }
                if let picture {
                    do {
                        try Picture.write(report.result, to: picture)
                    } catch {
                        throw Storm.Failure("cannot write \(picture): \(error.localizedDescription)")
                    }
                }
                if let remark = report.remark { throw Storm.Failure(remark) }
            } catch let failure as Storm.Failure {
                Console.complain("retry-storm: \(failure.message)")
                throw ExitCode(failure.exitCode)
            }
        }
    }

    extension Plan.Run: ExpressibleByArgument {}
#else
    import Foundation

    @main
    enum RetryStormCommand {
        static func main() {
            FileHandle.standardError.write(
                Data("retry-storm needs the Demo trait: swift run --traits Demo retry-storm\n".utf8))
            exit(1)
        }
    }
#endif
