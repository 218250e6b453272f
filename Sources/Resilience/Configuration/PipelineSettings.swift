/// The settings of a whole ``Pipeline``, readable from a file or a server: its policies, and the settings of each.
///
/// ``Pipeline/Settings`` has the policies of this module. For policies of your own, write a type with a property for
/// each policy. The pipeline has each policy that has settings:
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
/// In a file, `policies` lists names of policies. If it is given, the pipeline has exactly these policies: a policy
/// that is not listed is left out even if it has settings, and a listed policy without settings has its defaults, if
/// any. A file must have `policies` or a policy's name, so that a misspelt name does not leave calls unguarded; for a
/// pipeline without policies, give an empty list. The only other setting is `isIdempotent`.
///
/// `Docs/WritingAPolicy.md` has such a policy. See <doc:ConfigurationGuide> for files.
public protocol PipelineSettings: SettingsGroup {
    /// Creates the settings of a pipeline without policies.
    init()

    /// Whether the pipeline's calls may be repeated; unknown by default.
    ///
    /// See ``Pipeline/isIdempotent``.
    var isIdempotent: Bool? { get set }

    /// All possible policies, outermost first.
    static var places: [PolicyPlace<Self>] { get }
}

extension PipelineSettings {
    /// The names of the pipeline's policies, outermost first; by default the names of the policies that have settings.
    ///
    /// A listed policy without settings has its defaults.
    public var policies: [String] { Self.places.filter { $0.isTaken(self) }.map(\.name) }

    public static var schema: SettingsSchema<Self> { SettingsSchema("Pipeline", places: places) }
}
