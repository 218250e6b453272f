#if Demo
    import ArgumentParser
    import Foundation

    @main
    struct RetryStormCommand: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "retry-storm",
            abstract: "Drains a backlog of mutations against a server with a rate limit, twice.",
            discussion: """
                First as an app did that caused a storm: it tried every mutation five times, and retried each of its \
                requests three times, without a shared pause. Then through the toolkit. Each run has its own real \
                HTTP server on loopback. A table at the end compares both.

                Exit status: 0 everything delivered by the toolkit; 1 something was not; 64 wrong options.
                """)

        private static let largest = 1_000_000

        @Option(parsing: .unconditional, help: "How many mutations there are, 0 to 1000000.")
        var mutations = 1000

        @Option(parsing: .unconditional, help: "Requests per second that the server admits, 1 to 1000000.")
        var rate = 25

        @Option(
            parsing: .unconditional,
            help: "Requests that the server admits at once after a quiet time, 1 to 1000000. (default: the rate)")
        var burst: Int?

        @Option(
            parsing: .unconditional, help: "The factor for the naive run's waits, above 0 and up to 100.")
        var timeScale = 1.0

        @Option(
            help: ArgumentHelp(
                "Write the requests of each second as an SVG to this file, and a version for dark pages beside it.",
                valueName: "file"))
        var picture: String?

        @Flag(help: "Print the result as one JSON object; everything else goes to standard error.")
        var json = false

        func validate() throws {
            try check(mutations, "--mutations", 0...Self.largest)
            try check(rate, "--rate", 1...Self.largest)
            if let burst { try check(burst, "--burst", 1...Self.largest) }
            guard timeScale > 0, timeScale <= 100 else {
                throw ValidationError("--time-scale is \(timeScale), and must be above 0 and at most 100.")
            }
            if picture == "" { throw ValidationError("--picture is empty, and must be a file.") }
        }

        private func check(_ value: Int, _ name: String, _ range: ClosedRange<Int>) throws {
            guard !range.contains(value) else { return }
            throw ValidationError("\(name) is \(value), and must be \(range.lowerBound) to \(range.upperBound).")
        }

        func run() async throws {
            let storm = Storm(
                mutations: mutations, rate: rate, burst: burst ?? rate, timeScale: timeScale,
                console: Console(standardError: json))
            let report = try await storm.run()
            let table = Table(report: report)
            print(json ? try report.json : "\n\(table)\n\n\(table.conclusion)")
            if let picture { try Picture.write(report, to: picture) }
            if report.toolkit.lost > 0 { throw ExitCode.failure }
        }
    }
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
