#if Demo
    import Foundation
    import Resilience

    /// The results of both runs, compared with the best possible.
    struct Report: Sendable, Encodable {
        let mutations: Int
        let rate: Int
        let burst: Int
        let timeScale: Double
        /// The best possible time: the burst is sent at once, and the rest at the rate.
        let bestSeconds: Double
        var naive = RunResult()
        var toolkit = RunResult()

        init(mutations: Int, rate: Int, burst: Int, timeScale: Double) {
            self.mutations = mutations
            self.rate = rate
            self.burst = burst
            self.timeScale = timeScale
            bestSeconds = Double(max(0, mutations - burst)) / Double(rate)
        }

        /// The report as one JSON object, with sorted keys.
        var json: String {
            get throws {
                let encoder = JSONEncoder()
                encoder.outputFormatting = [.sortedKeys, .prettyPrinted]
                encoder.keyEncodingStrategy = .convertToSnakeCase
                return String(decoding: try encoder.encode(self), as: UTF8.self)
            }
        }
    }

    /// The result of one way to drain the queue.
    struct RunResult: Sendable, Encodable {
        var requests = 0
        var throttled = 0
        var delivered = 0
        /// Requests whose key was accepted before. The effect is not repeated, because the server knows the key.
        var duplicates = 0
        /// Mutations that were not delivered.
        var lost = 0
        var seconds = 0.0
        /// The time divided by the best possible; nil if not all was delivered, or the best is 0.
        var ratioToBest: Double?
        /// The requests of each second.
        var perSecond: [Ledger.Second] = []

        private enum CodingKeys: CodingKey {
            case requests, throttled, delivered, duplicates, lost, seconds, ratioToBest
        }
    }

    extension RunResult {
        init(_ ledger: Ledger, of report: Report, took elapsed: Duration) {
            func rounded(_ number: Double) -> Double { (number * 1000).rounded() / 1000 }
            let seconds = elapsed.inSeconds
            self.init(
                requests: ledger.requests, throttled: ledger.throttled, delivered: ledger.delivered,
                duplicates: ledger.duplicates, lost: report.mutations - ledger.delivered, seconds: rounded(seconds),
                ratioToBest: ledger.delivered < report.mutations || report.bestSeconds == 0
                    ? nil : rounded(seconds / report.bestSeconds),
                perSecond: ledger.perSecond)
        }
    }
#endif
