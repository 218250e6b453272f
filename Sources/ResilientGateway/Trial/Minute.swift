#if Gateway
    import Foundation

    /// A minute of turns.
    struct Minute: CustomStringConvertible {
        /// Medians of the turns.
        let without, with: Turn
        /// For requests per second, and for processor time: the median, over all pairs of turns, of the value with the
        /// toolkit divided by the value without it.
        let rate, processor: Double
        /// The process's resident memory, in MB.
        let memory: Double

        init(of house: House) async throws {
            var turns: [[Turn]] = []
            let end = ContinuousClock.now + .seconds(60)
            while ContinuousClock.now < end {
                // The order alternates.
                let order = turns.count.isMultiple(of: 2) ? [0, 1] : [1, 0]
                var pair: [Turn] = []
                for index in order { pair.append(try await house.turn(at: house.gateways[index])) }
                turns.append(order.map { pair[$0] })
            }
            (without, with) = (median(of: turns.map { $0[0] }), median(of: turns.map { $0[1] }))
            rate = median(turns.map { $0[1].perSecond / $0[0].perSecond })
            processor = median(turns.map { $0[1].microseconds / $0[0].microseconds })
            memory = residentMegabytes()
        }

        var description: String {
            String(
                format: "| %.0f | %.0f | %.3f | %.1f | %.1f | %.3f | %.1f |", without.perSecond, with.perSecond, rate,
                without.microseconds, with.microseconds, processor, memory)
        }

        /// Whether the last third needs at most 5 % and 2 MB more memory than the first, and its ratio of processor
        /// times is at most 5 % higher. Requests per second are not compared: they depend on how threads are woken.
        static func areFlat(_ minutes: [Minute]) -> Bool {
            let third = max(1, minutes.count / 3)
            let (first, last) = (minutes.prefix(third), minutes.suffix(third))
            return median(last.map(\.memory)) <= median(first.map(\.memory)) * 1.05 + 2
                && median(last.map(\.processor)) <= median(first.map(\.processor)) * 1.05
        }
    }

    private func median(of turns: [Turn]) -> Turn {
        Turn(perSecond: median(turns.map(\.perSecond)), microseconds: median(turns.map(\.microseconds)))
    }

    private func median(_ values: [Double]) -> Double { values.sorted()[values.count / 2] }

    /// 0 without /proc.
    private func residentMegabytes() -> Double {
        let text = (try? String(contentsOfFile: "/proc/self/statm", encoding: .ascii)) ?? ""
        let pages = text.split(separator: " ").dropFirst().first.flatMap { Double($0) } ?? 0
        return pages * Double(sysconf(Int32(_SC_PAGESIZE))) / 1_000_000
    }
#endif
