public import Resilience

/// The state of a ``Hedge`` at one moment.
public struct HedgeStatus: PolicyStatusDetail {
    /// How long a call that begins now waits before its first hedge; nil if only a failure begins a hedge, or too few
    /// latencies are known.
    public let delay: Duration?
    /// The number of known latencies, up to 1000; 0 if the delay is not a percentile.
    public let samples: Int
    /// The number of hedges that the budget would allow now, if no call ended meanwhile.
    ///
    /// `Int.max`, written as null, for no limit.
    public let hedgesLeft: Int
    /// The number of calls without copies because their operation can't run concurrently: see ``Hedge/NoCopy/runOnce``.
    public let ranOnce: Int
    /// The number of calls without copies after the delay because they are not marked as repeatable: see
    /// ``Hedge/NoCopy/unknownEffects``.
    public let unknownEffects: Int

    /// Creates a status, for tests and previews.
    ///
    /// - Parameters:
    ///   - delay: How long a call waits before its first hedge.
    ///   - samples: The number of known latencies.
    ///   - hedgesLeft: The number of hedges that the budget would allow.
    ///   - ranOnce: The number of calls whose operation can't run concurrently. 0 by default.
    ///   - unknownEffects: The number of calls not marked as repeatable. 0 by default.
    public init(delay: Duration?, samples: Int, hedgesLeft: Int, ranOnce: Int = 0, unknownEffects: Int = 0) {
        self.delay = delay
        self.samples = samples
        self.hedgesLeft = hedgesLeft
        self.ranOnce = ranOnce
        self.unknownEffects = unknownEffects
    }

    /// Always true: a hedge rejects no call.
    public var isAllowed: Bool { true }

    public static var kind: String { "hedge" }

    public func condition(at now: MonotonicInstant) -> PolicyCondition {
        hedgesLeft > 0 ? PolicyCondition("ready", .up) : PolicyCondition("no hedges left", .busy)
    }

    public func readings(at now: MonotonicInstant) -> [StatusReading] {
        [
            StatusReading(
                "hedge_delay_seconds", "How long a call waits before its first hedge.", title: "after", delay),
            StatusReading("hedge_samples", "Latencies that a hedge knows.", title: "measured calls", samples),
            StatusReading("hedges_left", "Hedges that the budget still allows.", title: "hedges left", hedgesLeft),
        ]
    }

    private enum CodingKeys: String, UnlimitedCodingKey {
        case delay = "delaySeconds"
        case samples, hedgesLeft, ranOnce, unknownEffects
    }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        delay = try container.decodeIfPresent(Duration.self, forKey: .delay)
        samples = try container.decode(Int.self, forKey: .samples)
        hedgesLeft = try container.decode(Int.self, forKey: .hedgesLeft)
        ranOnce = try container.decodeIfPresent(Int.self, forKey: .ranOnce) ?? 0
        unknownEffects = try container.decodeIfPresent(Int.self, forKey: .unknownEffects) ?? 0
    }
}
