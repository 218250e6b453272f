/// Reads the settings of one thing from a decoder.
///
/// A setting that is left out, or null, is read as nil. A name that is no setting is invalid, since it is probably
/// misspelt; so is a setting that nobody asked for, since another kind of thing has it.
struct SettingsReader<Key: CodingKey & CaseIterable> {
    fileprivate let subject: String
    fileprivate let path: [any CodingKey]
    fileprivate let container: KeyedDecodingContainer<Key>
    /// The names that `container` has, including those that are no `Key`.
    fileprivate let given: [String]
    /// The settings that were asked for.
    fileprivate var asked: [String] = []

    mutating func value<Value: Decodable>(_ key: Key, as type: Value.Type = Value.self) throws -> Value? {
        asked.append(key.stringValue)
        return try container.decodeIfPresent(type, forKey: key)
    }

    /// Reads a number of seconds.
    mutating func duration(_ key: Key) throws -> Duration? {
        asked.append(key.stringValue)
        return try container.decodeIfPresent(Duration.self, forKey: key)
    }

    /// Reads one of a few names.
    mutating func choice<Choice: RawRepresentable & CaseIterable>(
        _ key: Key, among type: Choice.Type = Choice.self
    ) throws -> Choice? where Choice.RawValue == String {
        guard let name = try value(key, as: String.self) else { return nil }
        if let choice = type.init(rawValue: name) { return choice }
        throw InvalidSettings(
            subject, at: path + [key], name.debugDescription,
            "must be one of \(type.allCases.map(\.rawValue).joined(separator: ", "))")
    }

    /// Returns what was read of a setting that has no default.
    func require<Value>(_ value: Value?, _ key: Key) throws -> Value {
        guard let value else { throw InvalidSettings(subject, at: path + [key], "missing", "must be given") }
        return value
    }

    /// - Parameter isComplete: Whether all settings were asked for.
    fileprivate func noteUnknownNames(isComplete: Bool) {
        let names = isComplete ? asked : Key.allCases.map(\.stringValue)
        for name in given.sorted() where !names.contains(name) {
            _ = Problems.note(
                InvalidSetting(
                    subject: subject, parameter: name, value: "given",
                    requirement: "is no setting: there are \(names.joined(separator: ", "))"))
        }
    }

    /// The name of a parameter in what is decoded.
    fileprivate func name(of parameter: String) -> String {
        if given.contains(parameter) { return parameter }
        let wanted = parameter.filter { $0 != " " }.lowercased()
        return given.first { $0.lowercased() == wanted } ?? given.first { $0.lowercased().hasPrefix(wanted) }
            ?? parameter
    }
}

extension Decoder {
    /// Reads settings, and throws ``InvalidSettings`` with the paths of all that are invalid.
    /// - Parameter subject: What the settings are of, such as "Retry".
    func settings<Key: CodingKey & CaseIterable, Value>(
        of subject: String, by keys: Key.Type, _ make: (inout SettingsReader<Key>) throws -> Value
    ) throws -> Value {
        var reader = SettingsReader(
            subject: subject, path: codingPath, container: try container(keyedBy: keys),
            given: try container(keyedBy: AnyName.self).allKeys.map(\.stringValue))
        do {
            return try PolicySettings.checked {
                let made = Result { try make(&reader) }
                reader.noteUnknownNames(isComplete: (try? made.get()) != nil)
                return try made.get()
            }
        } catch let error as InvalidSettings {
            throw InvalidSettings(
                problems: error.problems.map { problem in
                    // What is further in has its path already.
                    !codingPath.isEmpty && problem.parameter.hasPrefix("\(codingPath.text).")
                        ? problem : problem.at(codingPath, reader.name(of: problem.parameter))
                })
        }
    }
}

private struct AnyName: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }

    init(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
}

extension InvalidSettings {
    init(_ subject: String, at path: [any CodingKey], _ value: String, _ requirement: String) {
        self.init(problems: [
            InvalidSetting(subject: subject, parameter: path.text, value: value, requirement: requirement)
        ])
    }
}

extension InvalidSetting {
    fileprivate func at(_ path: [any CodingKey], _ name: String) -> InvalidSetting {
        InvalidSetting(
            subject: subject, parameter: path.isEmpty ? name : "\(path.text).\(name)", value: value,
            requirement: requirement)
    }
}

extension [any CodingKey] {
    /// "endpoints.search.rules.0"
    fileprivate var text: String { map { $0.intValue.map(String.init) ?? $0.stringValue }.joined(separator: ".") }
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
