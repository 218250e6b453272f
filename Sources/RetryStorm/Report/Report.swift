#if Demo
    import Foundation

    /// Both ways side by side, against the best possible.
    struct Report: Sendable, Equatable {
        var mutations: Int
        var limit: Limit?
        var timeScale: Double
        var naive: RunResult?
        var toolkit: RunResult?

        /// What the server admits, as far as it is known.
        struct Limit: Sendable, Equatable {
            let rate: Int
            let burst: Int

            /// The burst at once, the rest at the rate.
            func bestSeconds(for mutations: Int) -> Double { Double(max(0, mutations - burst)) / Double(rate) }
        }

        var bestSeconds: Double? { limit?.bestSeconds(for: mutations) }
    }

    extension Report: Encodable {
        enum CodingKeys: String, CodingKey {
            case mutations, rate, burst, naive, toolkit
            case timeScale = "time_scale"
            case bestSeconds = "best_seconds"
        }

        /// Every key is always there; what is not known is null.
        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(mutations, forKey: .mutations)
            try container.encode(limit?.rate, forKey: .rate)
            try container.encode(limit?.burst, forKey: .burst)
            try container.encode(timeScale, forKey: .timeScale)
            try container.encode(naive, forKey: .naive)
            try container.encode(toolkit, forKey: .toolkit)
            try container.encode(bestSeconds, forKey: .bestSeconds)
        }

        /// One JSON object, its keys sorted.
        var json: String {
            get throws {
                let encoder = JSONEncoder()
                encoder.outputFormatting = [.sortedKeys, .prettyPrinted]
                return String(decoding: try encoder.encode(self), as: UTF8.self)
            }
        }
    }
#endif
