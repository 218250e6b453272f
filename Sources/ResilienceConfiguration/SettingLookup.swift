#if Configuration
    internal import Configuration
    internal import Resilience

    /// Reads settings from one snapshot of a configuration.
    ///
    /// A reader tells neither which keys it has nor which type a value has. So every name of a ``SettingGroup`` is
    /// looked up with the type that it should have, and what has another one is read with the others, so that an error
    /// can show it.
    struct SettingLookup {
        let snapshot: ConfigSnapshotReader

        /// More levels than the core's configurations take.
        private static var mostLevels: Int { 40 }
        /// More elements than the core's configurations take. They have the names 0, 1, 2, …
        static var mostElements: Int { 33 }

        /// - Returns: What is given of a group; nil if nothing is.
        func group(_ group: SettingGroup, at path: [String]) -> SettingTree? {
            // A value where a group belongs, such as 5 for `timeout`.
            if let value = text(at: path) { return value }
            var members: [String: SettingTree] = [:]
            for field in group.fields {
                if let value = plain(field, at: path + [field.name]) {
                    members[field.name] = value
                } else {
                    for name in field.misspelt where group.field(named: name) == nil {
                        members[name] = text(at: path + [name])
                    }
                }
            }
            guard !members.isEmpty || group.fields.contains(where: { isBegun($0, at: path + [$0.name]) }) else {
                return nil
            }
            guard path.count < Self.mostLevels else { return .group(members) }
            for field in group.fields {
                switch field.kind {
                case .nested(let inner): members[field.name] = self.group(inner, at: path + [field.name])
                case .groups(let inner): members[field.name] = list(of: inner, at: path + [field.name])
                case .whole, .number, .seconds, .flag, .text, .names, .secondsList, .choice, .group: break
                }
            }
            return .group(members)
        }

        /// Whether something is given of a group that is looked for only in one of which something is given.
        private func isBegun(_ field: SettingField, at path: [String]) -> Bool {
            switch field.kind {
            case .nested: text(at: path) != nil || text(at: path + ["kind"]) != nil
            case .groups: text(at: path) != nil || text(at: path + ["0", "kind"]) != nil
            case .whole, .number, .seconds, .flag, .text, .names, .secondsList, .choice, .group: false
            }
        }

        private func plain(_ field: SettingField, at path: [String]) -> SettingTree? {
            switch field.kind {
            case .whole: whole(at: path)
            case .number, .seconds: number(at: path)
            case .flag: flag(at: path)
            case .choice, .text: text(at: path)
            case .names: names(at: path)
            case .secondsList: numbers(at: path)
            case .group(let inner): self.group(inner, at: path)
            case .nested, .groups: nil
            }
        }

        private func list(of group: SettingGroup, at path: [String]) -> SettingTree? {
            if let value = text(at: path) { return value }
            var groups: [SettingTree] = []
            while groups.count < Self.mostElements, let next = self.group(group, at: path + ["\(groups.count)"]) {
                groups.append(next)
            }
            // What comes after a gap must not be left out in silence: the element that is missing is an empty one.
            let others = groups.isEmpty ? 0..<0 : groups.count..<max(groups.count, Self.mostElements)
            if others.contains(where: { text(at: path + ["\($0)", "kind"]) != nil }) { groups.append(.group([:])) }
            return groups.isEmpty ? nil : .list(groups)
        }

        /// A list of names. An empty variable of the environment is a list of one empty name: no name is meant.
        func names(at path: [String]) -> SettingTree? {
            let names = read(at: path) { .texts(try snapshot.requiredStringArray(forKey: $0)) }
            return names == .texts([""]) ? .texts([]) : names
        }

        /// A text, or whatever else stands there.
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
                // JSON's numbers count as Booleans, too, as in C. Only 0 and 1 are let pass.
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

    /// Tells the error of a value that is missing from that of a value that is there and can't be read.
    ///
    /// The library throws both, and does not export the type. So the error is compared with that of a value that is
    /// surely missing.
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
#endif
