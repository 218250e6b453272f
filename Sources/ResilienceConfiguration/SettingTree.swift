#if Configuration
    /// What a configuration says, as it was read.
    indirect enum SettingTree: Sendable, Hashable {
        case text(String)
        case whole(Int)
        case number(Double)
        case flag(Bool)
        case texts([String])
        case numbers([Double])
        /// Something that has no value of any type that a setting has, and what is known of it.
        case unreadable(String)
        case group([String: SettingTree])
        /// Groups with the names 0, 1, 2, …
        case list([SettingTree])

        /// Returns this group with what another one gives in place of its own.
        /// - Parameters:
        ///   - other: What is given in its place.
        ///   - levels: How many levels of names are merged; below them, the other's value is taken as a whole.
        func overridden(by other: SettingTree, levels: Int) -> SettingTree {
            guard levels > 0, case .group(let own) = self, case .group(let others) = other else { return other }
            return .group(own.merging(others) { $0.overridden(by: $1, levels: levels - 1) })
        }
    }

    /// Lets the core's configurations read a tree.
    struct SettingDecoder: Decoder {
        let tree: SettingTree
        let codingPath: [any CodingKey]
        var userInfo: [CodingUserInfoKey: Any] { [:] }

        init(_ tree: SettingTree, at codingPath: [any CodingKey]) {
            self.tree = tree
            self.codingPath = codingPath
        }

        func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
            guard case .group(let members) = tree else { throw mismatch([String: String].self) }
            return KeyedDecodingContainer(SettingMembers<Key>(members: members, codingPath: codingPath))
        }

        func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
            let elements: [SettingTree]
            switch tree {
            case .texts(let texts): elements = texts.map { .text($0) }
            case .numbers(let numbers): elements = numbers.map { .number($0) }
            case .list(let groups): elements = groups
            case .text, .whole, .number, .flag, .unreadable, .group: throw mismatch([String].self)
            }
            return SettingElements(elements: elements, codingPath: codingPath)
        }

        func singleValueContainer() -> any SingleValueDecodingContainer { self }

        fileprivate func mismatch(_ type: any Any.Type) -> DecodingError {
            .typeMismatch(type, .init(codingPath: codingPath, debugDescription: "\(tree)"))
        }

        fileprivate func whole<Value: FixedWidthInteger>(_ type: Value.Type = Value.self) throws -> Value {
            let value: Value? =
                switch tree {
                case .whole(let whole): Value(exactly: whole)
                case .number(let number): Value(exactly: number)
                case .text, .flag, .texts, .numbers, .unreadable, .group, .list: nil
                }
            guard let value else { throw mismatch(type) }
            return value
        }
    }

    extension SettingDecoder: SingleValueDecodingContainer {
        func decodeNil() -> Bool { false }

        func decode(_ type: Bool.Type) throws -> Bool {
            guard case .flag(let flag) = tree else { throw mismatch(type) }
            return flag
        }

        func decode(_ type: String.Type) throws -> String {
            switch tree {
            // What is unreadable is no text either, but it is shown as one in an error.
            case .text(let text), .unreadable(let text): return text
            case .whole, .number, .flag, .texts, .numbers, .group, .list: throw mismatch(type)
            }
        }

        func decode(_ type: Double.Type) throws -> Double {
            switch tree {
            case .whole(let whole): return Double(whole)
            case .number(let number): return number
            case .text, .flag, .texts, .numbers, .unreadable, .group, .list: throw mismatch(type)
            }
        }

        func decode(_ type: Float.Type) throws -> Float { Float(try decode(Double.self)) }
        func decode(_ type: Int.Type) throws -> Int { try whole() }
        func decode(_ type: Int8.Type) throws -> Int8 { try whole() }
        func decode(_ type: Int16.Type) throws -> Int16 { try whole() }
        func decode(_ type: Int32.Type) throws -> Int32 { try whole() }
        func decode(_ type: Int64.Type) throws -> Int64 { try whole() }
        func decode(_ type: UInt.Type) throws -> UInt { try whole() }
        func decode(_ type: UInt8.Type) throws -> UInt8 { try whole() }
        func decode(_ type: UInt16.Type) throws -> UInt16 { try whole() }
        func decode(_ type: UInt32.Type) throws -> UInt32 { try whole() }
        func decode(_ type: UInt64.Type) throws -> UInt64 { try whole() }

        func decode<Value: Decodable>(_ type: Value.Type) throws -> Value { try Value(from: self) }
    }

    /// The members of a group. The containers below hand each value to a ``SettingDecoder``.
    private struct SettingMembers<Key: CodingKey>: KeyedDecodingContainerProtocol {
        let members: [String: SettingTree]
        let codingPath: [any CodingKey]

        var allKeys: [Key] { members.keys.compactMap { Key(stringValue: $0) } }

        func contains(_ key: Key) -> Bool { members[key.stringValue] != nil }

        private func decoder(_ key: Key) throws -> SettingDecoder {
            guard let member = members[key.stringValue] else {
                throw DecodingError.keyNotFound(key, .init(codingPath: codingPath, debugDescription: "not given"))
            }
            return SettingDecoder(member, at: codingPath + [key])
        }

        func decodeNil(forKey key: Key) throws -> Bool { members[key.stringValue] == nil }

        func decode(_ type: Bool.Type, forKey key: Key) throws -> Bool { try decoder(key).decode(type) }
        func decode(_ type: String.Type, forKey key: Key) throws -> String { try decoder(key).decode(type) }
        func decode(_ type: Double.Type, forKey key: Key) throws -> Double { try decoder(key).decode(type) }
        func decode(_ type: Float.Type, forKey key: Key) throws -> Float { try decoder(key).decode(type) }
        func decode(_ type: Int.Type, forKey key: Key) throws -> Int { try decoder(key).decode(type) }
        func decode(_ type: Int8.Type, forKey key: Key) throws -> Int8 { try decoder(key).decode(type) }
        func decode(_ type: Int16.Type, forKey key: Key) throws -> Int16 { try decoder(key).decode(type) }
        func decode(_ type: Int32.Type, forKey key: Key) throws -> Int32 { try decoder(key).decode(type) }
        func decode(_ type: Int64.Type, forKey key: Key) throws -> Int64 { try decoder(key).decode(type) }
        func decode(_ type: UInt.Type, forKey key: Key) throws -> UInt { try decoder(key).decode(type) }
        func decode(_ type: UInt8.Type, forKey key: Key) throws -> UInt8 { try decoder(key).decode(type) }
        func decode(_ type: UInt16.Type, forKey key: Key) throws -> UInt16 { try decoder(key).decode(type) }
        func decode(_ type: UInt32.Type, forKey key: Key) throws -> UInt32 { try decoder(key).decode(type) }
        func decode(_ type: UInt64.Type, forKey key: Key) throws -> UInt64 { try decoder(key).decode(type) }
        func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
            try decoder(key).decode(type)
        }

        func nestedContainer<NestedKey: CodingKey>(
            keyedBy type: NestedKey.Type, forKey key: Key
        ) throws -> KeyedDecodingContainer<NestedKey> {
            try decoder(key).container(keyedBy: type)
        }

        func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
            try decoder(key).unkeyedContainer()
        }

        func superDecoder() throws -> any Decoder { SettingDecoder(.group(members), at: codingPath) }
        func superDecoder(forKey key: Key) throws -> any Decoder { try decoder(key) }
    }

    /// The elements of a list.
    private struct SettingElements: UnkeyedDecodingContainer {
        let elements: [SettingTree]
        let codingPath: [any CodingKey]
        private(set) var currentIndex = 0

        init(elements: [SettingTree], codingPath: [any CodingKey]) {
            self.elements = elements
            self.codingPath = codingPath
        }

        var count: Int? { elements.count }
        var isAtEnd: Bool { currentIndex >= elements.count }

        private func decoder() throws -> SettingDecoder {
            let path = codingPath + [SettingKey(index: currentIndex)]
            guard !isAtEnd else {
                throw DecodingError.valueNotFound(
                    SettingTree.self, .init(codingPath: path, debugDescription: "at the end"))
            }
            return SettingDecoder(elements[currentIndex], at: path)
        }

        private mutating func next<Value>(_ decode: (SettingDecoder) throws -> Value) throws -> Value {
            let value = try decode(decoder())
            currentIndex += 1
            return value
        }

        func decodeNil() throws -> Bool { false }

        mutating func decode(_ type: Bool.Type) throws -> Bool { try next { try $0.decode(type) } }
        mutating func decode(_ type: String.Type) throws -> String { try next { try $0.decode(type) } }
        mutating func decode(_ type: Double.Type) throws -> Double { try next { try $0.decode(type) } }
        mutating func decode(_ type: Float.Type) throws -> Float { try next { try $0.decode(type) } }
        mutating func decode(_ type: Int.Type) throws -> Int { try next { try $0.decode(type) } }
        mutating func decode(_ type: Int8.Type) throws -> Int8 { try next { try $0.decode(type) } }
        mutating func decode(_ type: Int16.Type) throws -> Int16 { try next { try $0.decode(type) } }
        mutating func decode(_ type: Int32.Type) throws -> Int32 { try next { try $0.decode(type) } }
        mutating func decode(_ type: Int64.Type) throws -> Int64 { try next { try $0.decode(type) } }
        mutating func decode(_ type: UInt.Type) throws -> UInt { try next { try $0.decode(type) } }
        mutating func decode(_ type: UInt8.Type) throws -> UInt8 { try next { try $0.decode(type) } }
        mutating func decode(_ type: UInt16.Type) throws -> UInt16 { try next { try $0.decode(type) } }
        mutating func decode(_ type: UInt32.Type) throws -> UInt32 { try next { try $0.decode(type) } }
        mutating func decode(_ type: UInt64.Type) throws -> UInt64 { try next { try $0.decode(type) } }
        mutating func decode<Value: Decodable>(_ type: Value.Type) throws -> Value { try next { try $0.decode(type) } }

        mutating func nestedContainer<NestedKey: CodingKey>(
            keyedBy type: NestedKey.Type
        ) throws -> KeyedDecodingContainer<NestedKey> {
            try next { try $0.container(keyedBy: type) }
        }

        mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
            try next { try $0.unkeyedContainer() }
        }

        mutating func superDecoder() throws -> any Decoder { try next { $0 } }
    }

    /// A part of a setting's path.
    struct SettingKey: CodingKey {
        let stringValue: String
        let intValue: Int?

        init(_ name: String) {
            stringValue = name
            intValue = nil
        }

        /// As the standard library's decoders name an element of a list, so that the core's errors show its number.
        init(index: Int) {
            stringValue = "Index \(index)"
            intValue = index
        }

        init?(stringValue: String) { self.init(stringValue) }
        init?(intValue: Int) { self.init(index: intValue) }
    }
#endif
