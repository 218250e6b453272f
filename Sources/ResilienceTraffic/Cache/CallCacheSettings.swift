public import Resilience

/// The settings of a ``CallCache`` as a value, which can be read from a file or a server.
///
/// ```swift
/// let json = Data(#"{"freshForSeconds": 60, "staleIfErrorSeconds": 3600}"#.utf8)
/// let settings = try JSONDecoder().decode(
///     CallCacheSettings.self, from: json)
/// let profiles = CallCache<User.ID, Profile>(
///     "profiles", settings: settings)
/// ```
///
/// See <doc:CacheGuide> for what the settings do.
public struct CallCacheSettings: SettingsGroup {
    /// How long a value is kept; each time is 0 or more.
    public var lifetime: CacheLifetime
    /// The failures of a load after which a stale value may be returned; success and cancelled are never among them;
    /// `.outages` by default.
    public var staleOn: VerdictSet
    /// How long to keep a failure that is an answer, such as a 404; 0 or more; by default 0.
    public var failuresFor: Duration
    /// How long after a failed load a stale value is returned without another load; 0 or more; by default 1 second.
    public var pauseAfterError: Duration
    /// The largest number of entries, 1 or more; by default 1000.
    public var maxCount: Int
    /// The largest total cost of all values, 1 or more; nil, the default, if costs are not counted.
    public var maxCost: Int?

    /// Creates settings.
    public init(
        lifetime: CacheLifetime, staleOn: VerdictSet = .outages, failuresFor: Duration = .zero,
        pauseAfterError: Duration = .seconds(1), maxCount: Int = 1000, maxCost: Int? = nil
    ) {
        self.lifetime = lifetime
        self.staleOn = staleOn
        self.failuresFor = failuresFor
        self.pauseAfterError = pauseAfterError
        self.maxCount = maxCount
        self.maxCost = maxCost
    }

    public static let schema = SettingsSchema(
        "CallCache", standard: CallCacheSettings(lifetime: CacheLifetime(freshFor: .zero)),
        [
            SettingField("freshForSeconds", \.lifetime.freshFor, .atLeast(0), need: .required),
            SettingField("staleWhileRevalidateSeconds", \.lifetime.staleWhileRevalidate, .atLeast(0)),
            SettingField("staleIfErrorSeconds", \.lifetime.staleIfError, .atLeast(0)),
            SettingField("staleOn", \.staleOn, .failures),
            SettingField("failuresForSeconds", \.failuresFor, .atLeast(0)),
            SettingField("pauseAfterErrorSeconds", \.pauseAfterError, .atLeast(0)),
            SettingField("maxCount", \.maxCount, .atLeast(1)), SettingField("maxCost", \.maxCost, .atLeast(1)),
        ])
}
