/// The allowed values of a setting.
///
/// A number must also be finite; a duration may be infinite.
public enum SettingRange: Sendable, Hashable {
    /// Anything.
    case any
    /// This or more.
    case atLeast(Double)
    /// More than this.
    case above(Double)
    /// From the first to the second.
    case within(Double, Double)
    /// Above the first, and at most the second.
    case aboveUpTo(Double, Double)
    /// Between the two, exclusive.
    case between(Double, Double)
    /// Verdicts other than success and cancelled.
    case failures
}

/// The type of a setting.
public indirect enum SettingType: Sendable {
    /// A whole number of 64 bits.
    case whole
    /// A number.
    case number
    /// A number of seconds.
    case seconds
    /// True or false.
    case flag
    /// A text.
    case text
    /// One of these names.
    case choice([String])
    /// A group of settings.
    case group(any SettingsGroup.Type)
    /// A list of such values.
    case list(SettingType)
}

extension SettingType {
    /// The group of settings in this type, or in each of its elements.
    package var group: (any SettingsGroup.Type)? {
        switch self {
        case .group(let group), .list(.group(let group)): group
        case .whole, .number, .seconds, .flag, .text, .choice, .list: nil
        }
    }
}

extension SettingRange {
    /// The allowed names.
    package func choices(among names: [String]) -> [String] {
        self == .failures ? names.filter { $0 != "success" && $0 != "cancelled" } : names
    }

    /// - Returns: The requirement that a value breaks; nil if it breaks none.
    func requirement(brokenBy value: Double, of type: SettingType) -> String? {
        func range(_ least: Double, _ most: Double) -> String {
            guard let least = Int(exactly: least), let most = Int(exactly: most) else { return "\(least)...\(most)" }
            return "\(least)...\(most)"
        }
        func short(_ number: Double) -> String { Int(exactly: number).map { "\($0)" } ?? "\(number)" }
        let finite = if case .number = type { true } else { false }
        let isTime = if case .seconds = type { true } else { false }
        let (isMet, requirement): (Bool, String) =
            switch self {
            case .any, .failures: (true, "must be finite")
            case .atLeast(let least):
                (
                    value >= least,
                    (finite ? "must be finite and " : "must ")
                        + (least == 0
                            ? "not be negative" : finite ? "at least \(short(least))" : "be at least \(short(least))")
                )
            case .above(let least):
                (value > least, isTime ? "must be above zero" : "must be above \(short(least)) and finite")
            case .within(let least, let most):
                (value >= least && value <= most, "must lie in \(range(least, most))")
            case .aboveUpTo(let least, let most):
                (value > least && value <= most, "must be above \(short(least)) and at most \(short(most))")
            case .between(let least, let most):
                (value > least && value < most, "must be above \(short(least)) and below \(short(most))")
            }
        return isMet && (!finite || value.isFinite) ? nil : requirement
    }
}
