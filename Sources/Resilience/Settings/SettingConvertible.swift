/// A type that the value of a setting can have.
public protocol SettingConvertible: Sendable, Equatable {
    /// The type that the value must have in a file.
    static var settingType: SettingType { get }

    /// Reads a value.
    ///
    /// - Parameters:
    ///   - value: The value.
    ///   - check: Receives the reason if the value can't be read.
    /// - Returns: nil if it can't be read.
    static func read(_ value: SettingValue, _ check: inout SettingCheck) -> Self?

    /// The value for a file; nil for none.
    ///
    /// - Throws: `EncodingError` for a value that is code.
    func written() throws -> SettingValue?

    /// Notes what is wrong with the value.
    ///
    /// - Parameters:
    ///   - range: The allowed values.
    ///   - check: Receives what is wrong.
    mutating func check(_ range: SettingRange, _ check: inout SettingCheck)
}

/// The problems that were found in settings, and the place that is being checked.
public struct SettingCheck: Sendable {
    /// What the settings configure.
    public internal(set) var subject: String
    /// Whether the settings come from a file, not from source code.
    let isInFile: Bool
    var path: [String]
    /// The problems that were found.
    public internal(set) var problems: [InvalidSetting] = []

    init(_ subject: String, at path: [String]?) {
        self.subject = subject
        self.path = path ?? []
        isInFile = path != nil
    }

    /// Notes that the present setting is invalid.
    ///
    /// - Parameters:
    ///   - value: The invalid value.
    ///   - requirement: What the value must be, such as "must be at least 1".
    public mutating func note(_ value: String, _ requirement: String) {
        var parameter = path.isEmpty ? "value" : path.joined(separator: ".")
        if !isInFile, let last = path.last {
            // Names the parameter, and the place of an element in a list.
            let (name, place) = path.count > 1 && Int(last) != nil ? (path[path.count - 2], ".\(last)") : (last, "")
            parameter = (name.hasSuffix("Seconds") ? String(name.dropLast("Seconds".count)) : name) + place
        }
        problems.append(
            InvalidSetting(subject: subject, parameter: parameter, value: value, requirement: requirement))
    }

    /// Notes that another setting of the same group is invalid.
    ///
    /// - Parameters:
    ///   - name: Its name.
    ///   - value: The invalid value.
    ///   - requirement: What it must be.
    public mutating func note(_ name: String, _ value: String, _ requirement: String) {
        within(name) { $0.note(value, requirement) }
    }

    @_semantics("optimize.sil.specialize.generic.never")
    mutating func within<R>(_ name: String, _ look: (inout SettingCheck) -> R) -> R {
        path.append(name)
        defer { path.removeLast() }
        return look(&self)
    }

    @_semantics("optimize.sil.specialize.generic.never")
    mutating func mismatch<Value>(_ value: SettingValue, _ requirement: String) -> Value? {
        note(value.shown, requirement)
        return nil
    }
}

extension SettingConvertible {
    /// - Throws: ``InvalidSettings``, with everything that is invalid.
    @_semantics("optimize.sil.specialize.generic.never")
    package static func read(
        _ value: SettingValue, of subject: String, at path: [String]
    ) throws(InvalidSettings) -> Self {
        var check = SettingCheck(subject, at: path)
        let own = read(value, &check)
        if own == nil, check.problems.isEmpty { check.note("given", "must be readable") }
        guard let own, check.problems.isEmpty else { throw InvalidSettings(problems: check.problems) }
        return own
    }

    public mutating func check(_ range: SettingRange, _ check: inout SettingCheck) {}

    /// - Parameter number: The value as a number, for the range.
    func check(_ number: Double, _ range: SettingRange, _ check: inout SettingCheck, shown: @autoclosure () -> String) {
        if let requirement = range.requirement(brokenBy: number, of: Self.settingType) {
            check.note(shown(), requirement)
        }
    }
}

extension Int: SettingConvertible {
    public static var settingType: SettingType { .whole }

    public static func read(_ value: SettingValue, _ check: inout SettingCheck) -> Int? {
        switch value {
        case .whole(let whole): whole
        case .number(let number):
            Int(exactly: number) ?? check.mismatch(value, "must be a whole number of 64 bits")
        default: check.mismatch(value, "must be a whole number of 64 bits")
        }
    }

    public func written() -> SettingValue? { .whole(self) }

    public mutating func check(_ range: SettingRange, _ check: inout SettingCheck) {
        self.check(Double(self), range, &check, shown: "\(self)")
    }
}

extension Double: SettingConvertible {
    public static var settingType: SettingType { .number }

    public static func read(_ value: SettingValue, _ check: inout SettingCheck) -> Double? {
        switch value {
        case .whole(let whole): Double(whole)
        case .number(let number): number
        default: check.mismatch(value, "must be a number")
        }
    }

    public func written() -> SettingValue? { .number(self) }

    public mutating func check(_ range: SettingRange, _ check: inout SettingCheck) {
        self.check(self, range, &check, shown: "\(self)")
    }
}

/// A number of seconds, to the nearest nanosecond, saturating at ±292 years.
extension Duration: SettingConvertible {
    public static var settingType: SettingType { .seconds }

    public static func read(_ value: SettingValue, _ check: inout SettingCheck) -> Duration? {
        switch value {
        case .whole(let whole): Duration(readSeconds: Double(whole))
        case .number(let number) where !number.isNaN: Duration(readSeconds: number)
        default: check.mismatch(value, "must be a number of seconds")
        }
    }

    public func written() -> SettingValue? { .number(writtenSeconds) }

    public mutating func check(_ range: SettingRange, _ check: inout SettingCheck) {
        // As precise as in a file.
        self = inNanoseconds
        self.check(writtenSeconds, range, &check, shown: text)
    }
}

extension Bool: SettingConvertible {
    public static var settingType: SettingType { .flag }

    public static func read(_ value: SettingValue, _ check: inout SettingCheck) -> Bool? {
        if case .flag(let flag) = value { flag } else { check.mismatch(value, "must be true or false") }
    }

    public func written() -> SettingValue? { .flag(self) }
}

extension String: SettingConvertible {
    public static var settingType: SettingType { .text }

    public static func read(_ value: SettingValue, _ check: inout SettingCheck) -> String? {
        switch value {
        case .text(let text): text
        default: check.mismatch(value, "must be a text")
        }
    }

    public func written() -> SettingValue? { .text(self) }
}

/// One of a few names.
public protocol SettingChoice: SettingConvertible, Hashable, Codable, RawRepresentable<String>, CaseIterable {}

extension SettingChoice {
    @_semantics("optimize.sil.specialize.generic.never")
    public static var settingType: SettingType { .choice(allCases.map(\.rawValue)) }

    @_semantics("optimize.sil.specialize.generic.never")
    public static func read(_ value: SettingValue, _ check: inout SettingCheck) -> Self? {
        guard case .text(let name) = value else { return check.mismatch(value, "must be a text") }
        return Self(rawValue: name)
            ?? check.mismatch(value, "must be one of \(allCases.map(\.rawValue).joined(separator: ", "))")
    }

    public func written() -> SettingValue? { .text(rawValue) }
}

extension VerdictSet: SettingConvertible {
    public static var settingType: SettingType { .list(.choice(names.map(\.name))) }

    public static func read(_ value: SettingValue, _ check: inout SettingCheck) -> VerdictSet? {
        guard case .list(let elements) = value else { return check.mismatch(value, "must be a list of names") }
        var set: VerdictSet = []
        for element in elements {
            guard case .text(let name) = element else { return check.mismatch(value, "must be a list of names") }
            if let known = names.first(where: { $0.name == name }) {
                set.formUnion(known.set)
            } else {
                check.note(name.debugDescription, "must be one of \(names.map(\.name).joined(separator: ", "))")
            }
        }
        return set
    }

    public func written() -> SettingValue? { .list(ownNames.map { .text($0) }) }

    public mutating func check(_ range: SettingRange, _ check: inout SettingCheck) {
        guard range == .failures, !isDisjoint(with: [.success, .cancelled]) else { return }
        check.note("\(self)", "must have neither success nor cancelled among them")
    }
}

/// An optional setting, which has no value if it is left out.
extension Optional: SettingConvertible where Wrapped: SettingConvertible {
    public static var settingType: SettingType { Wrapped.settingType }

    public static func read(_ value: SettingValue, _ check: inout SettingCheck) -> Wrapped?? {
        .some(Wrapped.read(value, &check))
    }

    public func written() throws -> SettingValue? { try self?.written() }

    public mutating func check(_ range: SettingRange, _ check: inout SettingCheck) { self?.check(range, &check) }
}

extension Array: SettingConvertible where Element: SettingConvertible {
    public static var settingType: SettingType { .list(Element.settingType) }

    @_semantics("optimize.sil.specialize.generic.never")
    public static func read(_ value: SettingValue, _ check: inout SettingCheck) -> [Element]? {
        guard case .list(let elements) = value else {
            let ofWhat =
                switch Element.settingType {
                case .whole, .number, .seconds: " of numbers"
                case .text, .choice: " of names"
                case .flag, .group, .list: ""
                }
            return check.mismatch(value, "must be a list\(ofWhat)")
        }
        return elements.enumerated().compactMap { index, element in
            check.within("\(index)") { Element.read(element, &$0) }
        }
    }

    public func written() throws -> SettingValue? { isEmpty ? nil : .list(try compactMap { try $0.written() }) }

    public mutating func check(_ range: SettingRange, _ check: inout SettingCheck) {
        for index in indices { check.within("\(index)") { self[index].check(range, &$0) } }
    }
}

extension CodingKey {
    /// "0" for index 0 of a list. A dictionary's key may also be a number, and is shown as it is.
    var inPath: String { intValue.flatMap { stringValue == "Index \($0)" ? "\($0)" : nil } ?? stringValue }
}

/// A list of names: `["transient", "throttled"]`.
extension VerdictSet: Codable {
    public init(from decoder: any Decoder) throws {
        self = try Self.read(SettingValue(from: decoder), of: "VerdictSet", at: decoder.codingPath.map(\.inPath))
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(ownNames)
    }
}
