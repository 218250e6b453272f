#if Gateway
    import Foundation

    /// Measures the toolkit's cost in a gateway, and whether it grows: `resilient-gateway trial MINUTES`.
    ///
    /// One process runs a service, the gateway, the same gateway without the toolkit, and the clients, over loopback.
    /// The gateways take turns of half a second. Each minute, a line reports the requests per second of both, the
    /// processor time per request, and the memory. The trial fails if the last third of the minutes needs more memory
    /// or processor time than the first.
    enum Trial {
        /// - Returns: The exit status: 0; 1 if the need grows; 2 without a valid number of minutes.
        static func run(_ argument: String?) async throws -> Int32 {
            guard let minutes = argument.flatMap({ Int($0) }), minutes > 0 else {
                print("resilient-gateway trial MINUTES, at least 1")
                return 2
            }
            return try await withHouse { house in
                // Warm-up: this creates everything that is created only once, and fills the processor's caches.
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
