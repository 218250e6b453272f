/// The place of a policy in the ``PipelineSettings`` of a pipeline: its name in a file, its settings, and how it is
/// made.
public struct PolicyPlace<Settings: Sendable>: Sendable {
    let path: any PartialKeyPath<Settings> & Sendable
    let field: SettingField<Settings>
    /// Whether the settings have this policy.
    let isTaken: @Sendable (Settings) -> Bool
    let leave: @Sendable (inout Settings) -> Void
    /// Adds the policy with its defaults; returns false if it has no defaults.
    let take: @Sendable (inout Settings) -> Bool
    let make: @Sendable (Settings, any TimeBase) -> [Pipeline.Element]

    var name: String { field.facts.name }

    /// Describes a place.
    ///
    /// - Parameters:
    ///   - name: The policy's name, in a file and in events.
    ///   - path: Where its settings are; unique among all places.
    ///   - standard: Its settings if a file lists the policy without settings; nil if the file must give some.
    ///   - make: Makes the policy from its name, its settings and the pipeline's time base.
    public init<Own: SettingsGroup>(
        _ name: String, _ path: any WritableKeyPath<Settings, Own?> & Sendable, standard: Own? = nil,
        @PipelineBuilder make: @escaping @Sendable (String, Own, any TimeBase) -> [Pipeline.Element]
    ) {
        self.path = path
        field = SettingField(name, path)
        isTaken = { $0[keyPath: path] != nil }
        leave = { $0[keyPath: path] = nil }
        let standard = standard?.valid()
        take = { settings in
            settings[keyPath: path] = standard
            return standard != nil
        }
        self.make = { settings, timeBase in settings[keyPath: path].map { make(name, $0, timeBase) } ?? [] }
    }
}

extension SettingsSchema where Settings: PipelineSettings {
    /// Describes the settings of a pipeline.
    ///
    /// - Parameters:
    ///   - subject: What the settings configure.
    ///   - places: Its policies, outermost first.
    public init(_ subject: String, places: [PolicyPlace<Settings>]) {
        let (names, standard) = (places.map(\.name), Settings())
        precondition(
            Set(names + ["policies", "isIdempotent"]).count == names.count + 2
                && Set(places.map { $0.path as PartialKeyPath<Settings> }).count == names.count,
            "\(subject) has a name or a path twice: \(names)")
        precondition(
            !places.contains { $0.isTaken(standard) },
            "\(subject): \(Settings.self)() must have no policies; a place has the defaults of its policy")
        self.init(
            subject, standard: standard,
            places.map(\.field) + [
                SettingField(policies: names, \.policies), SettingField("isIdempotent", \.isIdempotent),
            ]
        ) { settings, given in
            guard given.isInFile else { return }
            guard let listed = given.texts("policies") else {
                if given.areSound("policies"), !names.contains(where: { given.has($0) }) {
                    given.note("policies", "missing", "must be given if no policy has settings")
                }
                return
            }
            for place in places {
                if !listed.contains(place.name) {
                    place.leave(&settings)
                } else if !given.has(place.name), !place.take(&settings) {
                    given.note(place.name, "missing", "must be given, since policies lists it")
                }
            }
        }
    }
}
