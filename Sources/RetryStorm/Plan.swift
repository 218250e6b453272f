#if Demo
    import ArgumentParser
    import Foundation

    /// The command's options, checked.
    struct Plan: Sendable, Equatable {
        enum Run: String, Sendable, CaseIterable { case naive, toolkit }

        enum Source: Sendable, Equatable {
            case madeUp(count: Int, seed: UInt64)
            case file(String)
        }

        enum Server: Sendable, Equatable {
            case ours(Report.Limit)
            /// A server at this address, and what is known of its limit.
            case at(URL, Report.Limit?)

            var limit: Report.Limit? {
                switch self {
                case .ours(let limit): limit
                case .at(_, let limit): limit
                }
            }
        }

        var source: Source
        var server: Server
        var database: String?
        var timeScale: Double
        var runs: [Run]
    }

    extension RetryStormCommand {
        /// - Throws: `ValidationError`, with a message that names the option.
        var plan: Plan {
            get throws {
                let largest = TokenBucket.largest
                try check(mutations, "--mutations", 0...largest)
                try check(rate, "--rate", 1...largest)
                try check(burst, "--burst", 1...largest)
                guard timeScale > 0, timeScale <= 100 else {
                    throw ValidationError("--time-scale is \(timeScale), and must be above 0 and at most 100.")
                }
                if input != nil, mutations != nil {
                    throw ValidationError("--input and --mutations exclude each other.")
                }
                if picture != nil, url != nil {
                    throw ValidationError("--picture shows what our own server saw: it excludes --url.")
                }
                for (name, path) in [("--input", input), ("--database", database), ("--picture", picture)]
                where path == "" {
                    throw ValidationError("\(name) is empty, and must be a file.")
                }
                return Plan(
                    source: input.map { .file($0) } ?? .madeUp(count: mutations ?? 1000, seed: seed),
                    server: try server, database: database, timeScale: timeScale,
                    runs: only.map { [$0] } ?? (url == nil ? [.naive, .toolkit] : [.toolkit]))
            }
        }

        private var server: Plan.Server {
            get throws {
                guard let url else {
                    let rate = rate ?? 25
                    return .ours(Report.Limit(rate: rate, burst: burst ?? rate))
                }
                guard let address = URL(string: url), ["http", "https"].contains(address.scheme?.lowercased()),
                    let host = address.host, !host.isEmpty, (1...65535).contains(address.port ?? 80)
                else {
                    throw ValidationError(
                        "--url is \"\(url)\", and must be like http://host/path or https://host/path.")
                }
                if rate == nil, burst != nil {
                    throw ValidationError("--burst with --url needs --rate: what that server admits is not known.")
                }
                return .at(address, rate.map { Report.Limit(rate: $0, burst: burst ?? $0) })
            }
        }

        private func check(_ value: Int?, _ name: String, _ range: ClosedRange<Int>) throws {
            guard let value, !range.contains(value) else { return }
            throw ValidationError("\(name) is \(value), and must be \(range.lowerBound) to \(range.upperBound).")
        }
    }
#endif
