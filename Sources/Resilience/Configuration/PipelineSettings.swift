/// The settings of a whole ``Pipeline`` as a value, which can be read from a file or a server: which policies it has, and
/// the settings of each.
///
/// ``Pipeline/Settings`` is one, with the policies of this module. For policies of your own, write one of your own, with a
/// property for each policy. A policy that has settings is in the pipeline:
///
/// ```swift
/// struct ShopSettings: PipelineSettings {
///     var retry: Retry.Settings?
///     var quota: Quota.Settings?
///     var isIdempotent: Bool?
///
///     static let places: [PolicyPlace<ShopSettings>] = [
///         .retry(\.retry),
///         PolicyPlace("quota", \.quota) { name, settings, _ in
///             Quota(name, settings: settings)
///         },
///     ]
/// }
/// ```
///
/// In a file, `policies` is a list of the names of the policies. If it is given, the pipeline has exactly those that it
/// lists: one that has settings and is not listed is left out, and one that is listed and has no settings has its defaults, if
/// there are any. One of the names must be given, so that a misspelt one does not leave calls unguarded; for a pipeline
/// without policies, give an empty list. Besides these names and `isIdempotent` there are no settings.
///
/// `Docs/WritingAPolicy.md` has such a policy. See <doc:ConfigurationGuide> for files.
public protocol PipelineSettings: SettingsGroup {
    /// Creates the settings of a pipeline without policies.
    init()

    /// Whether the pipeline's calls may be repeated: see ``Pipeline/isIdempotent``; nil if it is not known.
    var isIdempotent: Bool? { get set }

    /// The policies that there can be, outermost first.
    static var places: [PolicyPlace<Self>] { get }
}

extension PipelineSettings {
    /// The names of exactly those policies that there are, outermost first. One without settings has its defaults.
    public var policies: [String] { Self.places.filter { $0.isTaken(self) }.map(\.name) }

    public static var schema: SettingsSchema<Self> { SettingsSchema("Pipeline", places: places) }
}
