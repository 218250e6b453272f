#if Gateway
    import Foundation

    /// What the toolkit costs a gateway, and whether that stays: `resilient-gateway trial MINUTES`.
    ///
    /// One process has a service, the gateway, the same gateway without the toolkit, and the clients, over loopback. The gateways
    /// take turns of half a second. A line a minute tells the requests per second of both, the processor time of a request, and
    /// the memory; the trial fails where the last third of the minutes needs more memory or processor time than the first.
    enum Trial {
        /// - Returns: The status of the process: 1 if the minutes are not alike, 2 for no number of minutes.
        static func run(_ argument: String?) async throws -> Int32 {
            guard let minutes = argument.flatMap({ Int($0) }), minutes > 0 else {
                print("resilient-gateway trial MINUTES, at least 1")
                return 2
            }
            return try await withHouse { house in
                // What is made once is made, and the processor's caches know both.
                for gateway in house.gateways { _ = try await house.turn(at: gateway) }
                print("| minute | per second without | with | ratio | processor µs without | with | ratio | MB |")
                print("|---|---:|---:|---:|---:|---:|---:|---:|")
                var lines: [Minute] = []
                for number in 1...minutes {
                    lines.append(try await Minute(of: house))
                    print("| \(number) \(lines[number - 1])")
                    fflush(nil)
                }
                return Minute.areFlat(lines) ? 0 : 1
            }
        }
    }
#endif
