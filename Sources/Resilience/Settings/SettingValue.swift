/// A setting's value in a file.
public indirect enum SettingValue: Sendable, Hashable {
    /// Nothing.
    case null
    /// True or false.
    case flag(Bool)
    /// A whole number.
    case whole(Int)
    /// Another number.
    case number(Double)
    /// A text.
    case text(String)
    /// A list.
    case list([SettingValue])
    /// A group of settings, by name.
    case group([String: SettingValue])
    /// Anything else, with a description.
    case unreadable(String)

    /// The text that shows a value of the wrong type to people.
    package var shown: String {
        switch self {
        case .flag(let flag): "\(flag)"
        case .whole(let whole): "\(whole)"
        case .number(let number): Int(exactly: number).map { "\($0)" } ?? "\(number)"
        case .text(let text): text.debugDescription
        case .unreadable(let text): text
        case .null, .list, .group: "something else"
        }
    }
}

extension SettingValue: Codable {
    /// More levels than any sensible retry rule or break needs; the limit keeps a file from exhausting the stack.
    static let mostLevels = 32

    /// Reads any value. It throws only the decoder's errors.
    public init(from decoder: any Decoder) throws {
        guard decoder.codingPath.count <= Self.mostLevels + 1 else {
            self = .unreadable("deeper than \(Self.mostLevels) levels")
            return
        }
        if let members = try? decoder.container(keyedBy: AnyName.self) {
            var group: [String: SettingValue] = [:]
            for name in members.allKeys { group[name.stringValue] = try members.decode(Self.self, forKey: name) }
            self = .group(group)
        } else if var elements = try? decoder.unkeyedContainer() {
            var list: [SettingValue] = []
            while !elements.isAtEnd { list.append(try SettingValue(from: elements.superDecoder())) }
            self = .list(list)
        } else {
            let value = try decoder.singleValueContainer()
            if value.decodeNil() {
                self = .null
            } else if let flag = try? value.decode(Bool.self) {
                self = .flag(flag)
            } else if let whole = try? value.decode(Int.self) {
                self = .whole(whole)
            } else if let number = try? value.decode(Double.self) {
                self = .number(number)
            } else if let text = try? value.decode(String.self) {
                self = .text(text)
            } else {
                self = .unreadable("something else")
            }
        }
    }

    public func encode(to encoder: any Encoder) throws {
        switch self {
        case .group(let members):
            var container = encoder.container(keyedBy: AnyName.self)
            for (name, value) in members { try container.encode(value, forKey: AnyName(stringValue: name)) }
        case .list(let elements):
            var container = encoder.unkeyedContainer()
            for element in elements { try container.encode(element) }
        case .null, .unreadable: try encoder.singleValue { try $0.encodeNil() }
        case .flag(let flag): try encoder.singleValue { try $0.encode(flag) }
        case .whole(let whole): try encoder.singleValue { try $0.encode(whole) }
        case .number(let number): try encoder.singleValue { try $0.encode(number) }
        case .text(let text): try encoder.singleValue { try $0.encode(text) }
        }
    }
}

extension Encoder {
    fileprivate func singleValue(_ encode: (inout any SingleValueEncodingContainer) throws -> Void) throws {
        var container = singleValueContainer()
        try encode(&container)
    }
}

struct AnyName: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }

    init(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
}
