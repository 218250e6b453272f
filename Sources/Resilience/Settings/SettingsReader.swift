/// Reads the settings of one thing from a decoder.
///
/// A setting that is left out, or null, is read as nil; so is one that is invalid, which is noted, so that all that is
/// wrong is found at once. A name that is no setting is invalid, since it is probably misspelt; so is a setting that
/// nobody asked for, since another kind of thing has it.
struct SettingsReader<Key: CodingKey & CaseIterable> {
    private let subject: String
    private let path: [any CodingKey]
    private let container: KeyedDecodingContainer<Key>
    /// The names that are given, including those that are no `Key`.
    private let given: [String]
    private var asked: Set<String> = []
    /// What is given and can't be read.
    private var unreadable: Set<String> = []
    /// What is wrong, with paths.
    private var problems: [InvalidSetting] = []

    fileprivate init(_ subject: String, _ decoder: any Decoder) throws {
        self.subject = subject
        path = decoder.codingPath
        container = try decoder.container(keyedBy: Key.self)
        let names = try decoder.container(keyedBy: AnyName.self)
        let known = Set(Key.allCases.map(\.stringValue))
        given = names.allKeys.map(\.stringValue).filter { name in
            !known.contains(name) || (try? names.decodeNil(forKey: AnyName(stringValue: name))) != true
        }
    }

    mutating func value<Value: Decodable>(_ key: Key, as type: Value.Type = Value.self) -> Value? {
        read(key, "must be \(SettingText.kind(of: type))") { try $0.decodeIfPresent(type, forKey: key) }
    }

    /// Reads a number of seconds.
    mutating func duration(_ key: Key) -> Duration? {
        read(key, "must be a number of seconds") { try $0.decodeIfPresent(Duration.self, forKey: key) }
    }

    /// Reads a list of numbers of seconds.
    mutating func durations(_ key: Key) -> [Duration]? {
        guard let seconds = value(key, as: [Double].self) else { return nil }
        if seconds.allSatisfy({ !$0.isNaN }) { return seconds.map(Duration.init(readSeconds:)) }
        note(key, "\(seconds)", "must be a list of numbers")
        return nil
    }

    /// Reads a list of settings, each of which may be invalid.
    mutating func list<Element: Decodable>(_ key: Key, of type: Element.Type = Element.self) -> [Element]? {
        guard given.contains(key.stringValue) else { return value(key) }
        asked.insert(key.stringValue)
        guard var list = try? container.nestedUnkeyedContainer(forKey: key) else {
            note(key, shown(key), "must be a list")
            return nil
        }
        var elements: [Element] = []
        while !list.isAtEnd {
            do {
                elements.append(try Element(from: list.superDecoder()))
            } catch let error as InvalidSettings {
                problems += error.problems
                unreadable.insert(key.stringValue)
            } catch {
                note(key, "a list that can't be read", "must be a list of settings")
                break
            }
        }
        return isUnreadable(key) ? nil : elements
    }

    /// Reads one of a few names.
    mutating func choice<Choice: RawRepresentable & CaseIterable>(
        _ key: Key, among type: Choice.Type = Choice.self
    ) -> Choice? where Choice.RawValue == String {
        guard let name = value(key, as: String.self) else { return nil }
        if let choice = type.init(rawValue: name) { return choice }
        note(key, name.debugDescription, "must be one of \(type.allCases.map(\.rawValue).joined(separator: ", "))")
        return nil
    }

    /// Returns what was read of a setting that has no default.
    /// - Parameter valid: What to go on with if there is none.
    mutating func require<Value>(_ value: Value?, _ key: Key, else valid: @autoclosure () -> Value) -> Value {
        if let value { return value }
        if !isUnreadable(key) { note(key, "missing", "must be given") }
        return valid()
    }

    /// Returns what was read of a setting without which nothing else can be read.
    mutating func require<Value>(_ value: Value?, _ key: Key) throws -> Value {
        if let value { return value }
        if !isUnreadable(key) { note(key, "missing", "must be given") }
        throw InvalidSettings(problems: [])
    }

    /// Whether a setting is given and can't be read. Nothing else is to be said of what goes with it.
    func isUnreadable(_ key: Key) -> Bool { unreadable.contains(key.stringValue) }

    /// Notes that a setting is invalid.
    mutating func note(_ key: Key, _ value: String, _ requirement: String) {
        unreadable.insert(key.stringValue)
        note([key], value, requirement)
    }

    /// A value of a type that is not wanted.
    private func shown(_ key: Key) -> String {
        if let text = try? container.decode(String.self, forKey: key) { return text.debugDescription }
        if let flag = try? container.decode(Bool.self, forKey: key) { return "\(flag)" }
        if let number = try? container.decode(Int.self, forKey: key) { return "\(number)" }
        if let number = try? container.decode(Double.self, forKey: key) { return "\(number)" }
        return "something else"
    }

    private mutating func note(_ keys: [any CodingKey], _ value: String, _ requirement: String) {
        problems.append(
            InvalidSetting(
                subject: subject, parameter: SettingText.path(path + keys), value: value, requirement: requirement))
    }

    private mutating func read<Value>(
        _ key: Key, _ requirement: String, _ read: (KeyedDecodingContainer<Key>) throws -> Value?
    ) -> Value? {
        asked.insert(key.stringValue)
        do {
            return try read(container)
        } catch let error as InvalidSettings {
            problems += error.problems
            unreadable.insert(key.stringValue)
        } catch {
            note(key, shown(key), requirement)
        }
        return nil
    }

    /// What is wrong, once everything was read.
    /// - Parameters:
    ///   - isComplete: Whether all settings were asked for.
    ///   - error: What was found by making what the settings are of, without paths.
    fileprivate func found(isComplete: Bool, _ error: InvalidSettings?) -> [InvalidSetting] {
        var reader = self
        let isComplete = isComplete && unreadable.isEmpty
        let names = Key.allCases.map(\.stringValue).filter { !isComplete || asked.contains($0) }
        for name in given.sorted() where !names.contains(name) {
            reader.note(
                [AnyName(stringValue: name)], "given",
                "is no setting: there are \(names.joined(separator: ", "))")
        }
        let made = error?.problems ?? []
        // Of a default nobody needs to hear, unless it is all that is wrong.
        let ofGiven = made.filter { given.contains(name(of: $0.parameter)) }
        let told = ofGiven.isEmpty && reader.problems.isEmpty ? made : ofGiven
        var found: Set<InvalidSetting> = []
        return (reader.problems + told.map(placed)).filter { found.insert($0).inserted }
    }

    private func name(of parameter: String) -> String {
        let wanted = parameter.filter { $0 != " " }.lowercased()
        let names = Key.allCases.map(\.stringValue)
        return names.first { $0.lowercased() == wanted } ?? names.first { $0.lowercased() == "\(wanted)seconds" }
            ?? names.first { $0.lowercased().hasPrefix(wanted) } ?? parameter
    }

    private func placed(_ problem: InvalidSetting) -> InvalidSetting {
        let name = AnyName(stringValue: name(of: problem.parameter))
        return InvalidSetting(
            subject: problem.subject, parameter: SettingText.path(path + [name]), value: problem.value,
            requirement: problem.requirement)
    }
}

extension Decoder {
    /// Reads settings, and throws ``InvalidSettings`` with the paths of all that are invalid.
    /// - Parameter subject: What the settings are of, such as "Retry".
    func settings<Key: CodingKey & CaseIterable, Value>(
        of subject: String, by keys: Key.Type, _ make: (inout SettingsReader<Key>) throws -> Value
    ) throws -> Value {
        // More levels than a rule or a break makes sense with; a file must not exhaust the stack.
        guard codingPath.count <= 32 else {
            throw InvalidSettings(
                subject, at: codingPath, "\(codingPath.count) levels deep", "must be 32 at most")
        }
        guard var reader = try? SettingsReader<Key>(subject, self) else {
            throw InvalidSettings(subject, at: codingPath, "something else", "must be settings with names")
        }
        var error: InvalidSettings?
        var made: Value?
        do {
            made = try PolicySettings.checked { try make(&reader) }
        } catch let invalid as InvalidSettings {
            error = invalid
        }
        let found = reader.found(isComplete: made != nil, error)
        if let made, found.isEmpty { return made }
        throw InvalidSettings(problems: found)
    }
}

private struct AnyName: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }

    init(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
}

private enum SettingText {
    /// "endpoints.search.rules.0"
    static func path(_ path: [any CodingKey]) -> String {
        let names = path.map { key in
            // An index in a list. A key of a dictionary may be a number, too.
            key.intValue.flatMap { key.stringValue == "Index \($0)" ? "\($0)" : nil } ?? key.stringValue
        }
        return names.isEmpty ? "value" : names.joined(separator: ".")
    }

    static func kind(of type: any Any.Type) -> String {
        switch type {
        case is Int.Type: "a whole number of 64 bits"
        case is Double.Type: "a number"
        case is Bool.Type: "true or false"
        case is String.Type: "a text"
        case is [Double].Type: "a list of numbers"
        case is [String].Type: "a list of names"
        case is VerdictSet.Type: "a list of names"
        default: "settings with names"
        }
    }
}

extension InvalidSettings {
    init(_ subject: String, at path: [any CodingKey], _ value: String, _ requirement: String) {
        self.init(problems: [
            InvalidSetting(
                subject: subject, parameter: SettingText.path(path), value: value, requirement: requirement)
        ])
    }
}

extension PolicySettings {
    /// ``checked(_:)`` for what throws nothing itself.
    static func valid<T>(_ make: () -> T) throws(InvalidSettings) -> T {
        do {
            return try checked(make)
        } catch let error as InvalidSettings {
            throw error
        } catch {
            preconditionFailure("\(error)")
        }
    }
}
