/// The settings of a break, as a file contains them.
struct BreakSettings: KindSettings {
    let duration: any BreakDuration

    init(_ duration: any BreakDuration) { self.duration = duration }

    var description: String { duration.description }

    static let schema = SettingsSchema(
        "BreakDuration", standard: BreakSettings(ConstantBreak.standard),
        kinds: [
            kind(
                "constant", ConstantBreak.standard,
                [SettingField("lengthSeconds", \.length, .atLeast(0), need: .required)]),
            kind(
                "exponential", GrowingBreak(maxMultiplier: 10),
                [
                    SettingField("baseSeconds", \.base, .atLeast(0)),
                    SettingField("maxMultiplier", \.maxMultiplier, .atLeast(1)),
                    SettingField("capSeconds", \.cap, .atLeast(0)),
                ]
            ) {
                $0.maxMultiplier != nil
            },
            kind(
                "linear", GrowingBreak(),
                [
                    SettingField("baseSeconds", \.base, .atLeast(0)), SettingField("capSeconds", \.cap, .atLeast(0)),
                ]),
            kind(
                "retryAfter", RetryAfterBreak(otherwise: BreakSettings(GrowingBreak(maxMultiplier: 10))),
                [SettingField("otherwise", \.otherwise), SettingField("capSeconds", \.cap, .atLeast(0))]),
            kind(
                "jittered", JitteredBreak(plain: BreakSettings(ConstantBreak.standard)),
                [
                    SettingField("break", \.plain, need: .required),
                    SettingField("jitterShare", \.share, .within(0, 1)),
                ]),
            .code(standard: "", []) { _ in
                BreakSettings(ConstantBreak.standard)
            } finish: {
                $1.note($0, "must be a break of this package")
            } values: {
                $0.description
            },
        ])

    private static func kind<Break: BreakDuration>(
        _ name: String, _ standard: Break, _ fields: [SettingField<Break>],
        isOwn: @escaping @Sendable (Break) -> Bool = { _ in true }
    ) -> SettingVariant<BreakSettings> {
        SettingVariant(name, standard: standard, fields, make: { BreakSettings($0) }) {
            ($0.duration as? Break).flatMap { isOwn($0) ? $0 : nil }
        }
    }
}

/// Settings of one of several types. Two are equal if their written forms are equal. Settings made by code may have no
/// written form: then their descriptions are compared.
protocol KindSettings: SettingsGroup, CustomStringConvertible {}

extension KindSettings {
    private var content: SettingValue { (try? written()) ?? .text(description) }

    static func == (one: Self, other: Self) -> Bool { one.content == other.content }
    func hash(into hasher: inout Hasher) { hasher.combine(content) }
}

extension BreakDuration {
    /// This break, if it is valid; see ``SettingsGroup/valid()``.
    func checked() -> Self {
        // Safe: validation keeps the type.
        BreakSettings(self).valid().duration as! Self
    }
}
