/// A group of settings that can be read from a file or a server, and written.
///
/// The schema makes a struct `Codable`, and checks it.
public protocol SettingsGroup: SettingConvertible, Hashable, Codable {
    /// All of its settings.
    static var schema: SettingsSchema<Self> { get }
}

// Reading, checking and writing settings is never specialised: one copy serves all groups, which keeps programs small.

/// The only description of a group of settings.
///
/// The schema is used to read files, to check settings in source code, to look settings up in a configuration, to write
/// the docs, and to find the differences at a reload.
public struct SettingsSchema<Settings: Sendable>: Sendable {
    /// What the settings configure, such as "Bulkhead".
    public let subject: String
    /// Valid settings; they contain the defaults.
    let standard: Settings
    let fields: [SettingField<Settings>]
    let variants: [SettingVariant<Settings>]
    /// All settings of all kinds.
    let facts: [SettingFacts]
    let finish: @Sendable (inout Settings, inout GivenSettings) -> Void

    /// Describes settings.
    ///
    /// - Parameters:
    ///   - subject: What the settings configure, such as "Bulkhead".
    ///   - standard: Valid settings, with the defaults.
    ///   - fields: The settings, in the order in which people read them.
    ///   - finish: Checks and changes settings that depend on each other, after they were read or made.
    @_semantics("optimize.sil.specialize.generic.never")
    public init(
        _ subject: String, standard: Settings, _ fields: [SettingField<Settings>],
        finish: @escaping @Sendable (inout Settings, inout GivenSettings) -> Void = { _, _ in }
    ) {
        self.subject = subject
        self.standard = standard
        self.fields = fields
        self.finish = finish
        facts = fields.map(\.facts)
        variants = []
    }

    /// Describes settings of several kinds: each kind has a `kind`, and settings of its own.
    ///
    /// - Parameters:
    ///   - subject: What the settings configure.
    ///   - standard: Valid settings.
    ///   - kinds: The kinds.
    @_semantics("optimize.sil.specialize.generic.never")
    public init(_ subject: String, standard: Settings, kinds: [SettingVariant<Settings>]) {
        self.subject = subject
        self.standard = standard
        variants = kinds
        let written = kinds.filter { !$0.kind.isEmpty }
        let kind = SettingFacts(
            name: "kind", type: .choice(written.map(\.kind)), range: .any, need: .required, isLive: false)
        facts = written.flatMap(\.facts).reduce(into: [kind]) { all, facts in
            if !all.contains(where: { $0.name == facts.name }) { all.append(facts) }
        }
        fields = []
        finish = { _, _ in }
    }
}

/// One kind of settings.
public struct SettingVariant<Settings: Sendable>: Sendable {
    let kind: String
    let facts: [SettingFacts]
    let read: @Sendable ([String: SettingValue], inout SettingCheck) -> Settings
    /// Returns nil for settings of another kind.
    let write: @Sendable (Settings) throws -> [String: SettingValue]?
    /// Returns whether the settings are of this kind.
    let check: @Sendable (inout Settings, inout SettingCheck) -> Bool
    /// The defaults, as they are written.
    let defaults: @Sendable () -> [String: SettingValue]

    /// Describes a kind.
    ///
    /// - Parameters:
    ///   - kind: Its name.
    ///   - standard: Its valid values, with the defaults.
    ///   - fields: Its settings.
    ///   - make: Makes the settings from valid values.
    ///   - finish: Checks values that depend on each other, after they were read or made.
    ///   - values: The values of settings; nil if they are of another kind.
    @_semantics("optimize.sil.specialize.generic.never")
    public init<Values: Sendable>(
        _ kind: String, standard: Values, _ fields: [SettingField<Values>],
        make: @escaping @Sendable (Values) -> Settings,
        finish: @escaping @Sendable (inout Values, inout GivenSettings) -> Void = { _, _ in },
        values: @escaping @Sendable (Settings) -> Values?
    ) {
        self.kind = kind
        facts = fields.map(\.facts)
        let table = SettingTable(standard: standard, fields: fields, finish: finish)
        read = { members, check in make(table.read(members, after: ["kind"], &check)) }
        write = { try values($0).map(table.written) }
        self.check = { settings, check in
            guard var own = values(settings) else { return false }
            table.check(&own, &check)
            settings = make(own)
            return true
        }
        defaults = { (try? table.written(standard)) ?? [:] }
    }

    /// Describes a kind that no file contains, because it is code.
    ///
    /// - Parameters:
    ///   - standard: Its valid values.
    ///   - fields: The settings that are checked.
    ///   - make: Makes the settings from valid values.
    ///   - finish: Checks values that depend on each other.
    ///   - values: The values of settings; nil if they are of another kind.
    public static func code<Values: Sendable>(
        standard: Values, _ fields: [SettingField<Values>], make: @escaping @Sendable (Values) -> Settings,
        finish: @escaping @Sendable (inout Values, inout GivenSettings) -> Void = { _, _ in },
        values: @escaping @Sendable (Settings) -> Values?
    ) -> SettingVariant {
        SettingVariant("", standard: standard, fields, make: make, finish: finish, values: values)
    }
}

/// The settings of a group that are given and can be read.
///
/// In source code, all settings are given.
public struct GivenSettings: Sendable {
    var check: SettingCheck
    fileprivate let given: [String: SettingValue]?
    fileprivate let failed: Set<String>

    /// Whether a setting is given.
    ///
    /// - Parameter name: Its name.
    public func has(_ name: String) -> Bool { given.map { $0[name] != nil } ?? true }

    /// Whether the settings come from a file.
    var isInFile: Bool { given != nil }

    /// The texts of a list in a file; nil if the value is not a list.
    func texts(_ name: String) -> [String]? {
        guard case .list(let elements) = given?[name] else { return nil }
        return elements.compactMap { if case .text(let text) = $0 { text } else { nil } }
    }

    /// Returns whether settings are valid.
    ///
    /// If not, skip the checks that depend on these settings.
    ///
    /// - Parameter names: Their names.
    public func areSound(_ names: String...) -> Bool { failed.isDisjoint(with: names) }

    var areAllSound: Bool { failed.isEmpty }

    /// Notes that a setting is invalid.
    ///
    /// - Parameters:
    ///   - name: Its name.
    ///   - value: The invalid value.
    ///   - requirement: What it must be.
    public mutating func note(_ name: String, _ value: String, _ requirement: String) {
        check.note(name, value, requirement)
    }

    /// Notes that the group as a whole is invalid.
    ///
    /// - Parameters:
    ///   - value: The invalid value.
    ///   - requirement: What it must be.
    public mutating func note(_ value: String, _ requirement: String) { check.note(value, requirement) }

    /// Notes that a setting is missing.
    ///
    /// - Parameter name: Its name.
    public mutating func noteMissing(_ name: String) { note(name, "missing", "must be given") }
}

/// Reads, checks and writes fields.
private struct SettingTable<Values: Sendable>: Sendable {
    let standard: Values
    let fields: [SettingField<Values>]
    let finish: @Sendable (inout Values, inout GivenSettings) -> Void

    /// - Parameter others: Names of members that are read elsewhere.
    @_semantics("optimize.sil.specialize.generic.never")
    func read(_ members: [String: SettingValue], after others: [String], _ check: inout SettingCheck) -> Values {
        check.noteOthers(than: others + fields.map(\.facts.name), in: members)
        var values = standard
        var failed: Set<String> = []
        for field in fields {
            let name = field.facts.name
            let found = check.problems.count
            if let value = members[name] {
                check.within(name) { field.read(&values, value, &$0) }
            } else if field.facts.need == .required {
                check.note(name, "missing", "must be given")
            }
            if check.problems.count > found { failed.insert(name) }
        }
        finish(&values, given: members, failed, &check)
        return values
    }

    @_semantics("optimize.sil.specialize.generic.never")
    func check(_ values: inout Values, _ check: inout SettingCheck) {
        var failed: Set<String> = []
        for field in fields {
            let found = check.problems.count
            check.within(field.facts.name) { field.check(&values, standard, &$0) }
            if check.problems.count > found { failed.insert(field.facts.name) }
        }
        finish(&values, given: nil, failed, &check)
    }

    @_semantics("optimize.sil.specialize.generic.never")
    private func finish(
        _ values: inout Values, given: [String: SettingValue]?, _ failed: Set<String>, _ check: inout SettingCheck
    ) {
        let found = check.problems.count
        var settings = GivenSettings(check: check, given: given, failed: failed)
        finish(&values, &settings)
        check = settings.check
        if check.problems.count > found { values = standard }
    }

    @_semantics("optimize.sil.specialize.generic.never")
    func written(_ values: Values) throws -> [String: SettingValue] {
        var members: [String: SettingValue] = [:]
        for field in fields { members[field.facts.name] = try field.write(values) }
        return members
    }
}

extension SettingCheck {
    /// Notes names that are not settings.
    fileprivate mutating func noteOthers(than names: [String], in members: [String: SettingValue]) {
        for name in members.keys.sorted() where !names.contains(name) {
            note(name, "given", "is no setting: there are \(names.joined(separator: ", "))")
        }
    }
}

extension SettingsSchema {
    private var table: SettingTable<Settings> { SettingTable(standard: standard, fields: fields, finish: finish) }

    @_semantics("optimize.sil.specialize.generic.never")
    func read(_ value: SettingValue, _ check: inout SettingCheck) -> Settings? {
        let outer = check.subject
        check.subject = subject
        defer { check.subject = outer }
        guard case .group(let given) = value else { return check.mismatch(value, "must be settings with names") }
        // An unknown name is an error even if its value is null.
        let names = Set(facts.map(\.name))
        let members = given.filter { $0.value != .null || !names.contains($0.key) }
        guard !variants.isEmpty else { return table.read(members, after: [], &check) }
        if let variant = variant(members["kind"], &check) { return variant.read(members, &check) }
        check.noteOthers(than: facts.map(\.name), in: members)
        return nil
    }

    private func variant(_ kind: SettingValue?, _ check: inout SettingCheck) -> SettingVariant<Settings>? {
        guard let kind else {
            check.note("kind", "missing", "must be given")
            return nil
        }
        return check.within("kind") { check in
            String.read(kind, &check).flatMap { name in
                written.first { $0.kind == name }
                    ?? check.mismatch(kind, "must be one of \(kinds.joined(separator: ", "))")
            }
        }
    }

    @_semantics("optimize.sil.specialize.generic.never")
    func check(_ settings: inout Settings, _ check: inout SettingCheck) {
        let outer = check.subject
        check.subject = subject
        defer { check.subject = outer }
        if variants.isEmpty {
            table.check(&settings, &check)
        } else {
            // A value of none of the kinds that files have comes from code, and has nothing to check.
            _ = variants.contains { $0.check(&settings, &check) }
        }
    }

    @_semantics("optimize.sil.specialize.generic.never")
    package func written(_ settings: Settings) throws -> [String: SettingValue] {
        guard !variants.isEmpty else { return try table.written(settings) }
        for variant in written {
            guard var members = try variant.write(settings) else { continue }
            members["kind"] = .text(variant.kind)
            return members
        }
        throw EncodingError.invalidValue(
            settings, .init(codingPath: [], debugDescription: "\(subject) of your own is code, and can't be written."))
    }

    private var written: [SettingVariant<Settings>] { variants.filter { !$0.kind.isEmpty } }
    private var kinds: [String] { written.map(\.kind) }

    @_semantics("optimize.sil.specialize.generic.never")
    fileprivate var forms: [SettingsForm] {
        guard !variants.isEmpty else {
            return [SettingsForm(kind: nil, facts: facts, defaults: (try? table.written(standard)) ?? [:])]
        }
        return written.map { SettingsForm(kind: $0.kind, facts: $0.facts, defaults: $0.defaults()) }
    }

    /// The names of the settings in which two groups differ.
    /// - Parameter exceptLive: Whether to leave out settings that can change while a policy runs.
    @_semantics("optimize.sil.specialize.generic.never")
    func differences(_ one: Settings, _ other: Settings, exceptLive: Bool) -> [String] {
        fields.filter { !($0.facts.isLive && exceptLive) && !$0.isSame(one, other) }.map(\.facts.name)
    }
}

/// A schema's description of one kind of settings.
package struct SettingsForm: Sendable {
    /// nil if it is the only kind.
    package let kind: String?
    /// The settings, without the kind.
    package let facts: [SettingFacts]
    /// The values of the standard settings.
    private let defaults: [String: SettingValue]

    fileprivate init(kind: String?, facts: [SettingFacts], defaults: [String: SettingValue]) {
        (self.kind, self.facts, self.defaults) = (kind, facts, defaults)
    }

    /// A setting's default; nil if it has none, or if it depends on other settings.
    package func standard(of setting: SettingFacts) -> SettingValue? {
        setting.need == .defaulted ? defaults[setting.name] : nil
    }
}

extension SettingsGroup {
    /// What they configure.
    package static var subject: String { schema.subject }
    /// All settings of all kinds.
    package static var facts: [SettingFacts] { schema.facts }
    /// The content of a file, for each kind.
    package static var forms: [SettingsForm] { schema.forms }

    public static var settingType: SettingType { .group(Self.self) }

    public static func read(_ value: SettingValue, _ check: inout SettingCheck) -> Self? {
        schema.read(value, &check)
    }

    @_semantics("optimize.sil.specialize.generic.never")
    public func written() throws -> SettingValue? { .group(try Self.schema.written(self)) }

    public mutating func check(_ range: SettingRange, _ check: inout SettingCheck) { Self.schema.check(&self, &check) }

    @_semantics("optimize.sil.specialize.generic.never")
    public init(from decoder: any Decoder) throws {
        self = try Self.read(SettingValue(from: decoder), of: Self.schema.subject, at: decoder.codingPath.map(\.inPath))
    }

    @_semantics("optimize.sil.specialize.generic.never")
    public func encode(to encoder: any Encoder) throws {
        try written()?.encode(to: encoder)
    }

    /// Returns these settings if they are valid.
    ///
    /// Call it in a policy's initializer, not in the initializer of the settings: the schema begins with valid
    /// settings. Invalid settings trap with all problems; inside of `PolicySettings.checked(_:)`, the problems are
    /// noted, and valid settings are returned.
    public func valid() -> Self { checked().settings }

    /// Returns these settings, checked and in the form that a policy keeps, to change an existing object.
    ///
    /// nil if the settings are invalid: then do not make the change.
    ///
    /// The problems are noted, or trap outside of a check.
    public func allowed() -> Self? {
        let (settings, areValid) = checked()
        return areValid && SettingChecks.mayChange ? settings : nil
    }

    /// Returns the names of the settings that differ from other settings, except those that can change while a policy
    /// runs.
    ///
    /// - Parameter other: The other settings.
    public func differences(from other: Self) -> [String] {
        let (one, other) = (settled, other.settled)
        // With several kinds, no setting is live.
        guard Self.schema.variants.isEmpty else { return one == other ? [] : ["kind"] }
        return Self.schema.differences(one, other, exceptLive: true)
    }

    /// These settings as a policy has them, with durations in nanoseconds; unchanged if they are invalid.
    var settled: Self {
        let (settings, check) = looked()
        return check.problems.isEmpty ? settings : self
    }

    @_semantics("optimize.sil.specialize.generic.never")
    private func looked() -> (settings: Self, check: SettingCheck) {
        var (settings, check) = (self, SettingCheck(Self.schema.subject, at: nil))
        Self.schema.check(&settings, &check)
        return (settings, check)
    }

    @_semantics("optimize.sil.specialize.generic.never")
    private func checked() -> (settings: Self, areValid: Bool) {
        let (settings, check) = looked()
        for problem in check.problems where !Problems.note(problem) {
            preconditionFailure("\(InvalidSettings(problems: check.problems))")
        }
        return (settings, check.problems.isEmpty)
    }
}
