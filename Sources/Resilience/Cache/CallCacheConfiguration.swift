/// The settings of a ``CallCache`` as a value, which can be read from a file or a server.
///
/// ```swift
/// let json = Data(#"{"freshForSeconds": 60, "staleIfErrorSeconds": 3600}"#.utf8)
/// let configuration = try JSONDecoder().decode(
///     CallCacheConfiguration.self, from: json)
/// let profiles = CallCache<User.ID, Profile>(
///     "profiles", configuration: configuration)
/// ```
///
/// Its settings are always valid. What is left out has the default of ``CallCache``. Codable: `freshForSeconds`, which must be
/// given, `staleWhileRevalidateSeconds`, `staleIfErrorSeconds`, `staleOn`, a list of names, `failuresForSeconds`,
/// `pauseAfterErrorSeconds`, `maxCount` and `maxCost`.
///
/// See <doc:CacheGuide> for what the settings do.
public struct CallCacheConfiguration: Sendable, Hashable {
    /// How long a value is kept.
    public let lifetime: CacheLifetime
    /// The failures of a load after which a value from before may be returned.
    public let staleOn: VerdictSet
    /// How long a failure is kept that is an answer, such as a 404.
    public let failuresFor: Duration
    /// How long after a load has failed a value from before is returned without another load.
    public let pauseAfterError: Duration
    /// The most entries.
    public let maxCount: Int
    /// The most that all values may cost together; nil if costs are not counted.
    public let maxCost: Int?

    /// Creates a configuration. For each optional parameter, nil is the default of ``CallCache``.
    /// - Parameters:
    ///   - lifetime: How long a value is kept. Each time is 0 or more.
    ///   - staleOn: The failures of a load after which a value from before may be returned; neither success nor cancelled.
    ///   - failuresFor: How long a failure is kept that is an answer; 0 or more.
    ///   - pauseAfterError: How long after a load has failed a value from before is returned without another load; 0 or more.
    ///   - maxCount: The most entries, 1 or more.
    ///   - maxCost: The most that all values may cost together, 1 or more.
    /// - Throws: ``InvalidSettings``, with everything that is invalid.
    public init(
        lifetime: CacheLifetime, staleOn: VerdictSet? = nil, failuresFor: Duration? = nil,
        pauseAfterError: Duration? = nil, maxCount: Int? = nil, maxCost: Int? = nil
    ) throws(InvalidSettings) {
        typealias AnyCache = CallCache<Int, Int>
        let cache = try PolicySettings.valid {
            let standard = AnyCache(lifetime: CacheLifetime(freshFor: .zero))
            return AnyCache(
                lifetime: lifetime, staleOn: staleOn ?? standard.staleOn,
                failuresFor: failuresFor ?? standard.failuresFor,
                pauseAfterError: pauseAfterError ?? standard.pauseAfterError,
                maxCount: maxCount ?? standard.maxCount, maxCost: maxCost)
        }
        self.lifetime = cache.lifetime
        self.staleOn = cache.staleOn
        self.failuresFor = cache.failuresFor
        self.pauseAfterError = cache.pauseAfterError
        self.maxCount = cache.maxCount
        self.maxCost = cache.maxCost
    }
}

extension CallCacheConfiguration: Codable {
    private enum CodingKeys: String, CodingKey, CaseIterable {
        case freshFor = "freshForSeconds"
        case staleWhileRevalidate = "staleWhileRevalidateSeconds"
        case staleIfError = "staleIfErrorSeconds"
        case staleOn
        case failuresFor = "failuresForSeconds"
        case pauseAfterError = "pauseAfterErrorSeconds"
        case maxCount, maxCost
    }

    public init(from decoder: any Decoder) throws {
        self = try decoder.settings(of: "CallCache", by: CodingKeys.self) { reader in
            let lifetime = CacheLifetime(
                freshFor: reader.require(reader.duration(.freshFor), .freshFor, else: .zero),
                staleWhileRevalidate: reader.duration(.staleWhileRevalidate) ?? .zero,
                staleIfError: reader.duration(.staleIfError) ?? .zero)
            return try CallCacheConfiguration(
                lifetime: lifetime, staleOn: reader.value(.staleOn), failuresFor: reader.duration(.failuresFor),
                pauseAfterError: reader.duration(.pauseAfterError), maxCount: reader.value(.maxCount),
                maxCost: reader.value(.maxCost))
        }
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(lifetime.freshFor, forKey: .freshFor)
        try container.encode(lifetime.staleWhileRevalidate, forKey: .staleWhileRevalidate)
        try container.encode(lifetime.staleIfError, forKey: .staleIfError)
        try container.encode(staleOn, forKey: .staleOn)
        try container.encode(failuresFor, forKey: .failuresFor)
        try container.encode(pauseAfterError, forKey: .pauseAfterError)
        try container.encode(maxCount, forKey: .maxCount)
        try container.encodeIfPresent(maxCost, forKey: .maxCost)
    }
}

extension CallCache {
    /// Creates an empty cache with the settings of a configuration.
    /// - Parameters:
    ///   - name: The name in events.
    ///   - configuration: The settings.
    ///   - costOf: Returns what a value costs; see
    ///     ``init(_:lifetime:staleOn:failuresFor:pauseAfterError:maxCount:maxCost:costOf:lifetimeOf:classifier:timeBase:observers:)``.
    ///   - lifetimeOf: Returns how long a value is kept; nil for the configuration's lifetime.
    ///   - classifier: Says what an error of a load means. It should be that of the pipeline in the load.
    ///   - timeBase: The time base of ages and deadlines.
    ///   - observers: The observers that are told what calls got; nil for none at first.
    public convenience init(
        _ name: String = "cache", configuration: CallCacheConfiguration, costOf: (@Sendable (Value) -> Int)? = nil,
        lifetimeOf: (@Sendable (Key, Value) -> CacheLifetime?)? = nil, classifier: Classifier = .standard,
        timeBase: any TimeBase = .system, observers: PolicyObservers? = nil
    ) {
        self.init(
            name, lifetime: configuration.lifetime, staleOn: configuration.staleOn,
            failuresFor: configuration.failuresFor, pauseAfterError: configuration.pauseAfterError,
            maxCount: configuration.maxCount, maxCost: configuration.maxCost, costOf: costOf, lifetimeOf: lifetimeOf,
            classifier: classifier, timeBase: timeBase, observers: observers)
    }
}
