#if Configuration
    internal import Configuration
    internal import Resilience

    /// Reads settings from one snapshot of a configuration.
    ///
    /// A reader reports neither its keys nor the types of its values. So every name of a schema is looked up with its
    /// expected type. If the value has another type, the lookup tries the other types, so that an error can show the
    /// value.
    struct SettingLookup {
        let snapshot: ConfigSnapshotReader

        /// More levels than the core's configurations need.
        private static var mostLevels: Int { 40 }
        /// More elements than the core's configurations need. They have the names 0, 1, 2, …
        static var mostElements: Int { 33 }

        /// - Parameter outer: The groups around this one.
        /// - Returns: The given part of a group; nil if there is none.
        func group(
            _ group: any SettingsGroup.Type, at path: [String], in outer: [any SettingsGroup.Type] = []
        ) -> SettingTree? {
            // There is a value in place of a group, such as 5 for `timeout`.
            if let value = text(at: path) { return value }
            let outer = outer + [group]
            // A group that can contain a group of its own kind is endless.
            let (endless, plain) = (
                group.facts.filter { $0.type.isEndless(in: outer) },
                group.facts.filter { !$0.type.isEndless(in: outer) }
            )
            var members: [String: SettingTree] = [:]
            for field in plain {
                if let value = value(of: field.type, at: path + [field.name], in: outer) {
                    members[field.name] = value
                } else {
                    for name in field.misspelt where group.field(named: name) == nil {
                        members[name] = text(at: path + [name])
                    }
                }
            }
            guard !members.isEmpty || endless.contains(where: { isBegun($0, at: path + [$0.name]) }) else { return nil }
            guard path.count < Self.mostLevels else { return .group(members) }
            for field in endless { members[field.name] = value(of: field.type, at: path + [field.name], in: outer) }
            return .group(members)
        }

        /// Whether a nested group of an endless kind has any value.
        private func isBegun(_ field: SettingFacts, at path: [String]) -> Bool {
            guard let group = field.type.group else { return false }
            let first = if case .list = field.type { path + ["0"] } else { path }
            return text(at: path) != nil || isBegun(group, at: first)
        }

        /// Whether a group has any value outside of its nested groups.
        private func isBegun(_ group: any SettingsGroup.Type, at path: [String]) -> Bool {
            if group.field(named: "kind") != nil { return text(at: path + ["kind"]) != nil }
            return group.facts.contains { text(at: path + [$0.name]) != nil }
        }

        private func value(
            of type: SettingType, at path: [String], in outer: [any SettingsGroup.Type]
        ) -> SettingTree? {
            switch type {
            case .whole: whole(at: path)
            case .number, .seconds: number(at: path)
            case .flag: flag(at: path)
            case .choice, .text: text(at: path)
            case .group(let inner): group(inner, at: path, in: outer)
            case .list(.group(let inner)): list(of: inner, at: path, in: outer)
            case .list(.whole), .list(.number), .list(.seconds): numbers(at: path)
            case .list: names(at: path)
            }
        }

        private func list(
            of group: any SettingsGroup.Type, at path: [String], in outer: [any SettingsGroup.Type]
        ) -> SettingTree? {
            if let value = text(at: path) { return value }
            var groups: [SettingTree] = []
            while groups.count < Self.mostElements,
                let next = self.group(group, at: path + ["\(groups.count)"], in: outer)
            {
                groups.append(next)
            }
            // Elements after a gap must not be silently dropped: the missing element can't be read.
            let others = groups.isEmpty ? 0..<0 : groups.count..<max(groups.count, Self.mostElements)
            if others.contains(where: { isBegun(group, at: path + ["\($0)"]) }) {
                groups.append(group.field(named: "kind") == nil ? .unreadable("missing") : .group([:]))
            }
            return groups.isEmpty ? nil : .list(groups)
        }

        /// A list of names. An empty environment variable is read as a list of one empty name; that means no names.
        func names(at path: [String]) -> SettingTree? {
            let names = read(at: path) { .texts(try snapshot.requiredStringArray(forKey: $0)) }
            return names == .texts([""]) ? .texts([]) : names
        }

        /// The value at a path: a text, or a value of any other type.
        func text(at path: [String]) -> SettingTree? {
            read(at: path) { .text(try snapshot.requiredString(forKey: $0)) }
        }

        private func whole(at path: [String]) -> SettingTree? {
            read(at: path) { .whole(try snapshot.requiredInt(forKey: $0)) }
        }

        private func number(at path: [String]) -> SettingTree? {
            read(at: path) { .number(try snapshot.requiredDouble(forKey: $0)) }
        }

        private func numbers(at path: [String]) -> SettingTree? {
            read(at: path) { .numbers(try snapshot.requiredDoubleArray(forKey: $0)) }
        }

        private func flag(at path: [String]) -> SettingTree? {
            read(at: path) { key in
                let flag = try snapshot.requiredBool(forKey: key)
                // The library also reads JSON's numbers as Booleans, as in C. Here, only 0 and 1 are accepted.
                guard let number = snapshot.double(forKey: key), number != 0, number != 1 else { return .flag(flag) }
                return .number(number)
            }
        }

        private func read(at path: [String], _ read: (ConfigKey) throws -> SettingTree) -> SettingTree? {
            let key = ConfigKey(path)
            do {
                return try read(key)
            } catch {
                return MissingValue.isNamed(by: error) ? nil : ofAnotherType(key, error)
            }
        }

        private func ofAnotherType(_ key: ConfigKey, _ error: any Error) -> SettingTree {
            if let text = snapshot.string(forKey: key) { return .text(text) }
            if let whole = snapshot.int(forKey: key) { return .whole(whole) }
            if let number = snapshot.double(forKey: key) { return .number(number) }
            if let flag = snapshot.bool(forKey: key) { return .flag(flag) }
            if let texts = snapshot.stringArray(forKey: key) { return .texts(texts) }
            if let numbers = snapshot.doubleArray(forKey: key) { return .numbers(numbers) }
            if let wholes = snapshot.intArray(forKey: key) { return .numbers(wholes.map(Double.init)) }
            return .unreadable("\(error)")
        }
    }

    /// Distinguishes the error for a missing value from the error for an unreadable value.
    ///
    /// The library throws both, and does not export their type. So each error is compared with the error for a value
    /// that is certainly missing.
    private enum MissingValue {
        private struct Form: Equatable {
            let type: ObjectIdentifier
            let name: String?

            init(_ error: any Error) {
                type = ObjectIdentifier(Swift.type(of: error))
                name = Mirror(reflecting: error).children.first?.label
            }
        }

        private static let form: Form? = {
            do {
                let empty = ConfigReader(provider: InMemoryProvider(values: [:]))
                _ = try empty.requiredString(forKey: "missing")
                return nil
            } catch {
                return Form(error)
            }
        }()

        static func isNamed(by error: any Error) -> Bool { Form(error) == form }
    }

    extension SettingType {
        fileprivate func isEndless(in outer: [any SettingsGroup.Type]) -> Bool {
            if case .list = self {
                group != nil
            } else {
                group.map { group in outer.contains { $0 == group } } ?? false
            }
        }
    }
#endif
