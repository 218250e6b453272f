#if Gateway
    import Foundation

    /// A minute of turns.
    struct Minute: CustomStringConvertible {
        /// Requests per second.
        let without, with: Double
        /// The median of what the pairs of turns say.
        let ratio: Double
        /// What is resident of the process, in MB.
        let memory: Double

        init(of house: House) async throws {
            var turns: [(without: Double, with: Double)] = []
            let end = ContinuousClock.now + .seconds(60)
            while ContinuousClock.now < end {
                // Who was first is second the next time.
                let order = turns.count.isMultiple(of: 2) ? [0, 1] : [1, 0]
                var rates = [0.0, 0.0]
                for index in order { rates[index] = try await house.turn(at: house.gateways[index]) }
                turns.append((rates[0], rates[1]))
            }
            without = median(turns.map(\.without))
            with = median(turns.map(\.with))
            ratio = median(turns.map { $0.with / $0.without })
            memory = residentMegabytes()
        }

        var description: String {
            String(format: "| %.0f | %.0f | %.3f | %.1f |", without, with, ratio, memory)
        }

        /// Whether the last third is like the first: no more than 5 % and 2 MB of memory more, and a ratio no more than 0.1 worse: that
        /// of single minutes differs by 0.06.
        static func areFlat(_ minutes: [Minute]) -> Bool {
            let third = max(1, minutes.count / 3)
            let (first, last) = (minutes.prefix(third), minutes.suffix(third))
            return median(last.map(\.memory)) <= median(first.map(\.memory)) * 1.05 + 2
                && median(last.map(\.ratio)) >= median(first.map(\.ratio)) - 0.1
        }
    }

    private func median(_ values: [Double]) -> Double { values.sorted()[values.count / 2] }

    /// Of this process; 0 where there is no /proc.
    private func residentMegabytes() -> Double {
        let text = (try? String(contentsOfFile: "/proc/self/statm", encoding: .ascii)) ?? ""
        let pages = text.split(separator: " ").dropFirst().first.flatMap { Double($0) } ?? 0
        return pages * Double(sysconf(Int32(_SC_PAGESIZE))) / 1_000_000
    }
#endif
