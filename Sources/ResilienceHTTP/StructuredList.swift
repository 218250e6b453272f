/// A list of strings or tokens with parameters, in a structured field (RFC 9651 §3.1): `"default";r=50;t=30`.
///
/// Only for the RateLimit fields: an inner list, an item of another type, or a syntax error (§4.2) makes the whole
/// field unreadable. Parameters with whole numbers and texts are kept; all others are checked and dropped.
struct StructuredList {
    /// The value of a parameter.
    enum Value {
        case wholeNumber(Int64)
        case text(String)
        case other

        var wholeNumber: Int64? { if case .wholeNumber(let number) = self { number } else { nil } }
        var text: String? { if case .text(let text) = self { text } else { nil } }
    }

    struct Item {
        let name: String
        /// The last value of each parameter.
        var values: [String: Value] = [:]

        /// Whether the parameter is a number of 0 or more, or missing but optional.
        func isCount(_ key: String, isRequired: Bool = false) -> Bool {
            values[key].map { $0.wholeNumber.map { $0 >= 0 } ?? false } ?? !isRequired
        }
    }

    private(set) var items: [Item] = []

    init?(_ value: String) {
        let isReadable = Self.members(of: value) { cursor in
            guard let item = Self.item(&cursor) else { return false }
            items.append(item)
            return true
        }
        guard isReadable else { return nil }
    }

    /// Reads members with commas between them.
    /// - Parameter read: Reads one member; false if it is malformed.
    /// - Returns: Whether the whole value has been read.
    fileprivate static func members(of value: String, _ read: (inout FieldCursor) -> Bool) -> Bool {
        // Outer spaces are allowed, outer tabs are not (§4.2); fields never begin with either.
        var cursor = FieldCursor(value)
        while !cursor.isAtEnd {
            guard read(&cursor) else { return false }
            cursor.skipSpaces()
            guard !cursor.isAtEnd else { break }
            guard cursor.skip(",") else { return false }
            cursor.skipSpaces()
            // The value ends with a comma.
            if cursor.isAtEnd { return false }
        }
        return true
    }

    private static func item(_ cursor: inout FieldCursor) -> Item? {
        guard let first = cursor.next else { return nil }
        let name = first == UInt8(ascii: "\"") ? string(&cursor) : first.isTokenStart ? token(&cursor) : nil
        guard var item = name.map({ Item(name: $0) }) else { return nil }
        return parameters(&cursor) { item.values[$0] = $1 } ? item : nil
    }

    /// Reads the parameters of an item.
    /// - Parameter note: Receives the key and the value of each parameter.
    /// - Returns: false if a parameter is malformed.
    fileprivate static func parameters(_ cursor: inout FieldCursor, _ note: (String, Value) -> Void) -> Bool {
        while cursor.skip(";") {
            while cursor.skip(" ") {}
            guard keyAndValue(&cursor, note) else { return false }
        }
        return true
    }

    /// Reads a key, and its value if it has one.
    /// - Returns: false if either is malformed.
    fileprivate static func keyAndValue(
        _ cursor: inout FieldCursor, orList mayBeList: Bool = false, _ note: (String, Value) -> Void
    ) -> Bool {
        guard let key = key(&cursor) else { return false }
        guard cursor.skip("=") else {
            note(key, .other)
            return true
        }
        if mayBeList, cursor.skip("(") {
            note(key, .other)
            return restOfList(&cursor)
        }
        guard let value = value(&cursor) else { return false }
        note(key, value)
        return true
    }

    /// Steps over an inner list, from its first item on.
    /// - Returns: false if it is malformed.
    private static func restOfList(_ cursor: inout FieldCursor) -> Bool {
        while true {
            while cursor.skip(" ") {}
            if cursor.skip(")") { return true }
            guard value(&cursor) != nil, parameters(&cursor, { _, _ in }),
                cursor.next == UInt8(ascii: " ") || cursor.next == UInt8(ascii: ")")
            else { return false }
        }
    }

    private static func key(_ cursor: inout FieldCursor) -> String? {
        guard let first = cursor.next, first.isLowerCase || first == UInt8(ascii: "*") else { return nil }
        return text(&cursor) { $0.isLowerCase || $0.isDigit || "_-.*".utf8.contains($0) }
    }

    private static func token(_ cursor: inout FieldCursor) -> String {
        text(&cursor) { $0.isLetter || $0.isDigit || "!#$%&'*+-.^_`|~:/".utf8.contains($0) }
    }

    private static func text(_ cursor: inout FieldCursor, while isPart: (UInt8) -> Bool) -> String {
        var bytes: [UInt8] = []
        while let byte = cursor.next, isPart(byte) {
            bytes.append(byte)
            _ = cursor.take()
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// A string in quotation marks, with `\"` and `\\`; ASCII without control characters.
    private static func string(_ cursor: inout FieldCursor) -> String? {
        var bytes: [UInt8] = []
        guard cursor.skip("\"") else { return nil }
        while let byte = cursor.take() {
            switch byte {
            case UInt8(ascii: "\""): return String(decoding: bytes, as: UTF8.self)
            case UInt8(ascii: "\\"):
                guard let escaped = cursor.take(), escaped == UInt8(ascii: "\"") || escaped == UInt8(ascii: "\\") else {
                    return nil
                }
                bytes.append(escaped)
            case 0x20...0x7e: bytes.append(byte)
            default: return nil
            }
        }
        return nil
    }

    /// The value of a parameter; nil if it is malformed.
    private static func value(_ cursor: inout FieldCursor) -> Value? {
        guard let first = cursor.next else { return nil }
        switch first {
        case UInt8(ascii: "\""): return string(&cursor).map { .text($0) }
        case UInt8(ascii: ":"): return byteSequence(&cursor) ? .other : nil
        case UInt8(ascii: "?"): return cursor.skip("?0") || cursor.skip("?1") ? .other : nil
        case UInt8(ascii: "@"):
            _ = cursor.take()
            guard case .wholeNumber = number(&cursor) else { return nil }
            return .other
        case _ where first == UInt8(ascii: "-") || first.isDigit: return number(&cursor)
        case _ where first.isTokenStart: return .text(token(&cursor))
        default: return nil
        }
    }

    /// An integer of up to 15 digits, or a decimal of up to 12 digits and 3 after the point.
    private static func number(_ cursor: inout FieldCursor) -> Value? {
        let isNegative = cursor.skip("-")
        let whole = text(&cursor, while: \.isDigit)
        guard whole.utf8.count <= 15, let number = Int64(whole) else { return nil }
        guard cursor.skip(".") else { return .wholeNumber(isNegative ? -number : number) }
        let fraction = text(&cursor, while: \.isDigit)
        return whole.utf8.count <= 12 && (1...3).contains(fraction.utf8.count) ? .other : nil
    }

    private static func byteSequence(_ cursor: inout FieldCursor) -> Bool {
        guard cursor.skip(":") else { return false }
        _ = text(&cursor) { $0.isLetter || $0.isDigit || "+/=".utf8.contains($0) }
        return cursor.skip(":")
    }
}

/// A dictionary in a structured field (RFC 9651 §3.2): `u=5, i`.
///
/// A syntax error makes the whole field unreadable. Whole numbers are kept; all other values, inner lists and
/// parameters are checked and dropped.
struct StructuredDictionary {
    /// The last value of each member that is a whole number.
    private(set) var numbers: [String: Int64] = [:]

    init?(_ value: String) {
        let isReadable = StructuredList.members(of: value) { cursor in
            StructuredList.keyAndValue(&cursor, orList: true) { numbers[$0] = $1.wholeNumber }
                && StructuredList.parameters(&cursor) { _, _ in }
        }
        guard isReadable else { return nil }
    }
}

extension UInt8 {
    fileprivate var isTokenStart: Bool { isLetter || self == UInt8(ascii: "*") }
}
