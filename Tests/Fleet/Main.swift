#if Redis
    import Foundation
    import Resilience
    import ResilienceFleet
    import TestServers

    /// Shows a fleet at work: processes that share one limit, on a server of their own, in real time.
    ///
    ///     swift run --traits Redis fleet limit 60 8       # seconds, processes
    ///     swift run --traits Redis fleet limit 60 64 16   # and 16 of them are cut off after a while
    ///     swift run --traits Redis fleet outage 6         # seconds of each outage
    ///
    /// `limit` compares the calls that all processes admit with the limit. `outage` kills the server, stops it, and
    /// cuts it off, with every ``FleetFallback`` or with those that you name. Both fail if a bound is broken.
    ///
    /// - `--busy`: wider bounds, for a machine that does other work.
    /// - `--skip-if-missing`: succeeds if no server is installed.
    @main
    enum Main {
        static func main() async throws {
            var arguments = Array(CommandLine.arguments.dropFirst())
            if arguments.count == 2, arguments[0] == "member" {
                let plan = try JSONDecoder().decode(Plan.self, from: Data(arguments[1].utf8))
                return try await Member(plan).run()
            }
            signal(SIGPIPE, SIG_IGN)
            let isBusy = take("--busy", from: &arguments)
            let maySkip = take("--skip-if-missing", from: &arguments)
            let bounds = isBusy ? Bounds.busy : Bounds()
            let trial = arguments.isEmpty ? "" : arguments.removeFirst()
            let words = arguments.drop { Int($0) != nil }
            let numbers = arguments.prefix(arguments.count - words.count).compactMap { Int($0) }
            let fallbacks = words.compactMap { FleetFallback(rawValue: $0) }
            let members = numbers.dropFirst().first ?? 8
            let cut = numbers.dropFirst(2).first ?? 0
            let lease = numbers.dropFirst(3).first ?? 100
            let isUnderstood =
                switch trial {
                case "limit":
                    words.isEmpty && numbers.count <= 4 && (1...3_600).contains(numbers.first ?? 60)
                        && (1...100).contains(members) && (0...members).contains(cut)
                        && (20...60_000).contains(lease)
                case "outage":
                    fallbacks.count == words.count && numbers.count <= 1 && (2...600).contains(numbers.first ?? 6)
                default: false
                }
            guard isUnderstood else {
                return end(
                    64,
                    """
                    usage: fleet limit [seconds, 1 to 3600; 60] [processes, 1 to 100; 8] [of them cut off; 0] \
                    [lease in ms, 20 to 60000; 100]
                           fleet outage [seconds, 2 to 600; 6] [localShare] [open] [closed]
                    options: --busy, --skip-if-missing
                    """)
            }
            guard RedisServer.isInstalled else {
                if maySkip { return print("fleet: skipped. \(RedisServer.isMissing)") }
                return end(1, RedisServer.isMissing)
            }
            let problems =
                if trial == "limit" {
                    try await LimitTrial(
                        seconds: numbers.first ?? 60, members: members, cut: cut, lease: .milliseconds(lease),
                        bounds: bounds
                    ).run()
                } else {
                    try await OutageTrial(seconds: numbers.first ?? 6, bounds: bounds).run(
                        fallbacks.isEmpty ? FleetFallback.allCases : fallbacks)
                }
            guard problems.isEmpty else { return end(1, "broken:\n" + problems.joined(separator: "\n")) }
            print("every bound holds")
        }

        private static func take(_ option: String, from arguments: inout [String]) -> Bool {
            defer { arguments.removeAll { $0 == option } }
            return arguments.contains(option)
        }

        private static func end(_ code: Int32, _ message: String) {
            FileHandle.standardError.write(Data("\(message)\n".utf8))
            exit(code)
        }
    }
#else
    import Foundation

    @main
    enum Main {
        static func main() {
            FileHandle.standardError.write(
                Data("fleet needs the Redis trait: swift run --traits Redis fleet limit\n".utf8))
            exit(1)
        }
    }
#endif
