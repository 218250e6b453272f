#if Demo
    import Foundation

    /// The results of both runs, compared with the best possible.
    struct Report: Sendable, Equatable {
        var mutations: Int
        var limit: Limit?
        var timeScale: Double
        var naive: RunResult?
        var toolkit: RunResult?

        /// What the server admits; nil if it is not known.
        struct Limit: Sendable, Equatable {
            let rate: Int
            let burst: Int

            /// The time if the burst is sent at once, and the rest at the rate.
            func bestSeconds(for mutations: Int) -> Double { Double(max(0, mutations - burst)) / Double(rate) }
        }

        var bestSeconds: Double? { limit?.bestSeconds(for: mutations) }

        /// How many times the best possible time a run took; nil if that is unknown, or the run did not deliver all.
        func ratioToBest(of result: RunResult) -> Double? {
            guard let best = bestSeconds, best > 0, result.delivered >= mutations else { return nil }
            return result.seconds / best
        }
    }

    extension Report: Encodable {
        enum CodingKeys: String, CodingKey {
            case mutations, rate, burst, naive, toolkit
            case timeScale = "time_scale"
            case bestSeconds = "best_seconds"
        }

        /// Every key is always there; an unknown value is null.
        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(mutations, forKey: .mutations)
            try container.encode(limit?.rate, forKey: .rate)
            try container.encode(limit?.burst, forKey: .burst)
            try container.encode(timeScale, forKey: .timeScale)
            try container.encode(naive.map(rated), forKey: .naive)
            try container.encode(toolkit.map(rated), forKey: .toolkit)
            try container.encode(bestSeconds, forKey: .bestSeconds)
        }

        private func rated(_ result: RunResult) -> Rated { Rated(result: result, ratio: ratioToBest(of: result)) }

        private struct Rated: Encodable {
            let result: RunResult
            let ratio: Double?

            enum CodingKeys: String, CodingKey {
                case ratio = "ratio_to_best"
            }

            func encode(to encoder: any Encoder) throws {
                try result.encode(to: encoder)
                var container = encoder.container(keyedBy: CodingKeys.self)
                try container.encode(ratio.map { ($0 * 1000).rounded() / 1000 }, forKey: .ratio)
            }
        }

        /// The report as one JSON object, with sorted keys.
        var json: String {
            get throws {
                let encoder = JSONEncoder()
                encoder.outputFormatting = [.sortedKeys, .prettyPrinted]
                return String(decoding: try encoder.encode(self), as: UTF8.self)
            }
        }
    }
#endif
