/// The settings of a ``Hedge`` as a value, which can be read from a file or a server.
///
/// ```swift
/// let json = Data(#"{"delay": {"kind": "constant", "delaySeconds": 0.2}}"#.utf8)
/// let configuration = try JSONDecoder().decode(
///     HedgeConfiguration.self, from: json)
/// let hedge = Hedge("search", configuration: configuration)
/// ```
///
/// Its settings are always valid. What is left out has the default of ``Hedge``. Codable: `delay`, `maxHedges`, and
/// `verdicts`, a list of names.
///
/// See <doc:HedgeGuide> for what the settings do, and <doc:ConfigurationGuide> for files.
public struct HedgeConfiguration: Sendable, Hashable {
    /// How long the hedge waits for a copy before it begins the next one.
    public let delay: HedgeDelay
    /// How many copies may follow the first.
    public let maxHedges: Int
    /// The failures of a copy after which the next one begins at once.
    public let verdicts: VerdictSet

    /// Creates a configuration. For each optional parameter, nil is the default of ``Hedge``.
    /// - Parameters:
    ///   - delay: How long the hedge waits for a copy before it begins the next one.
    ///   - maxHedges: How many copies may follow the first, 0…10.
    ///   - verdicts: The failures of a copy after which the next one begins at once; neither success nor cancelled.
    /// - Throws: ``InvalidSettings``, with everything that is invalid. Settings of a delay that is made in the call are
    ///   among it.
    public init(
        after delay: @autoclosure () -> HedgeDelay = .percentile(), maxHedges: Int? = nil,
        on verdicts: VerdictSet? = nil
    ) throws(InvalidSettings) {
        let settings = try PolicySettings.valid {
            let standard = Hedge().settings
            return Hedge(
                after: delay(), maxHedges: maxHedges ?? standard.maxHedges, on: verdicts ?? standard.verdicts
            ).settings
        }
        self.delay = settings.delay
        self.maxHedges = settings.maxHedges
        self.verdicts = settings.verdicts
    }
}

extension HedgeConfiguration: Codable {
    private enum CodingKeys: String, CodingKey, CaseIterable {
        case delay, maxHedges, verdicts
    }

    public init(from decoder: any Decoder) throws {
        self = try decoder.settings(of: "Hedge", by: CodingKeys.self) { reader in
            let delay = reader.value(.delay) ?? HedgeDelay.percentile()
            return try HedgeConfiguration(
                after: delay, maxHedges: reader.value(.maxHedges), on: reader.value(.verdicts))
        }
    }
}

/// `{"kind": "percentile", "percentile": 0.95, "atLeastSeconds": 0.001, "minimumSamples": 100}`;
/// `{"kind": "constant", "delaySeconds": 0.2}`; `{"kind": "never"}`.
///
/// What is left out of a percentile has the default of the function of this name.
extension HedgeDelay: Codable {
    private enum CodingKeys: String, CodingKey, CaseIterable {
        case kind, percentile, minimumSamples
        case atLeast = "atLeastSeconds"
        case delay = "delaySeconds"
    }

    private enum KindName: String, CaseIterable, Encodable {
        case constant, percentile, never
    }

    public init(from decoder: any Decoder) throws {
        self = try decoder.settings(of: "HedgeDelay", by: CodingKeys.self) { reader in
            let kind: KindName = try reader.require(reader.choice(.kind), .kind)
            switch kind {
            case .never: return .never
            case .constant: return .constant(reader.require(reader.duration(.delay), .delay, else: .zero))
            case .percentile:
                let standard = HedgeDelay.percentile()
                guard case .percentile(let share, let least, let samples) = standard.kind else { return standard }
                return .percentile(
                    reader.value(.percentile) ?? share, atLeast: reader.duration(.atLeast) ?? .nanoseconds(least),
                    minimumSamples: reader.value(.minimumSamples) ?? samples)
            }
        }
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        switch kind {
        case .never:
            try container.encode(KindName.never, forKey: .kind)
        case .constant(let delay):
            try container.encode(KindName.constant, forKey: .kind)
            try container.encode(Duration.nanoseconds(delay), forKey: .delay)
        case .percentile(let share, let least, let samples):
            try container.encode(KindName.percentile, forKey: .kind)
            try container.encode(share, forKey: .percentile)
            try container.encode(Duration.nanoseconds(least), forKey: .atLeast)
            try container.encode(samples, forKey: .minimumSamples)
        }
    }
}

extension Hedge {
    /// Creates a hedge with the settings of a configuration, which knows no latencies.
    /// - Parameters:
    ///   - name: The name in events.
    ///   - configuration: The settings.
    ///   - budget: Limits the hedges of many calls together; nil for one of its own.
    ///   - timeBase: The time base of that budget; it must be that of the pipeline.
    ///   - observers: The observers that are told what this hedge does; nil for none at first.
    public convenience init(
        _ name: String = "hedge", configuration: HedgeConfiguration, budget: RetryBudget? = nil,
        timeBase: any TimeBase = .system, observers: PolicyObservers? = nil
    ) {
        self.init(
            name, after: configuration.delay, maxHedges: configuration.maxHedges, on: configuration.verdicts,
            budget: budget, timeBase: timeBase, observers: observers)
    }
}
