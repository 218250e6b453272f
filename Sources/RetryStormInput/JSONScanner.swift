/// Walks over JSON text (RFC 8259) and says where its parts are, so that a payload can be passed on byte by byte.
/// Reading a number and writing it again could change it.
///
/// Never traps, whatever the bytes.
package struct JSONScanner {
    package struct Malformed: Error, Equatable {
        package let reason: String
        /// The column in bytes, from 1.
        package let column: Int
    }

    package static let deepest = 200

    private let bytes: [UInt8]
    private(set) var position = 0

    package init(_ bytes: [UInt8]) { self.bytes = bytes }

    package var isAtEnd: Bool { position >= bytes.count }
    var next: UInt8? { isAtEnd ? nil : bytes[position] }

    func malformed(_ reason: String) -> Malformed { Malformed(reason: reason, column: position + 1) }

    package mutating func skipSpace() {
        while let byte = next, byte == 0x20 || byte == 0x09 || byte == 0x0D || byte == 0x0A { position += 1 }
    }

    mutating func take(_ byte: UInt8) -> Bool {
        guard next == byte else { return false }
        position += 1
        return true
    }

    mutating func expect(_ byte: UInt8) throws(Malformed) {
        guard take(byte) else {
            throw malformed(isAtEnd ? "ends too early" : "\"\(Character(UnicodeScalar(byte)))\" expected")
        }
    }

    /// Reads any value, and returns its place.
    package mutating func value(depth: Int = 0) throws(Malformed) -> Range<Int> {
        guard depth < Self.deepest else { throw malformed("nested more than \(Self.deepest) deep") }
        let start = position
        switch next {
        case UInt8(ascii: "{"):
            try members { (scanner, _) throws(Malformed) in _ = try scanner.value(depth: depth + 1) }
        case UInt8(ascii: "["): try elements(depth)
        case UInt8(ascii: "\""): _ = try string()
        case UInt8(ascii: "t"): try word("true")
        case UInt8(ascii: "f"): try word("false")
        case UInt8(ascii: "n"): try word("null")
        case UInt8(ascii: "-"): try number()
        case let byte? where Self.isDigit(byte): try number()
        case nil: throw malformed("ends too early")
        default: throw malformed("not a JSON value")
        }
        return start..<position
    }

    /// Reads an object. `member` receives the place of each name, quotes included, and reads the value.
    mutating func members(
        _ member: (inout JSONScanner, Range<Int>) throws(Malformed) -> Void
    ) throws(Malformed) {
        try expect(UInt8(ascii: "{"))
        skipSpace()
        if take(UInt8(ascii: "}")) { return }
        while true {
            skipSpace()
            let name = try string()
            skipSpace()
            try expect(UInt8(ascii: ":"))
            skipSpace()
            try member(&self, name)
            skipSpace()
            if take(UInt8(ascii: "}")) { return }
            try expect(UInt8(ascii: ","))
        }
    }

    private mutating func elements(_ depth: Int) throws(Malformed) {
        try expect(UInt8(ascii: "["))
        skipSpace()
        if take(UInt8(ascii: "]")) { return }
        while true {
            skipSpace()
            _ = try value(depth: depth + 1)
            skipSpace()
            if take(UInt8(ascii: "]")) { return }
            try expect(UInt8(ascii: ","))
        }
    }

    /// Reads a string, and returns its place, quotes included.
    mutating func string() throws(Malformed) -> Range<Int> {
        let start = position
        try expect(UInt8(ascii: "\""))
        while let byte = next {
            position += 1
            switch byte {
            case UInt8(ascii: "\""): return start..<position
            case UInt8(ascii: "\\"): try escape()
            case 0..<0x20: throw malformed("control character in a string")
            default: break
            }
        }
        throw malformed("a string without an end")
    }

    private mutating func escape() throws(Malformed) {
        guard let byte = next else { throw malformed("a string without an end") }
        position += 1
        if byte == UInt8(ascii: "u") {
            for _ in 0..<4 {
                guard let digit = next, Character(UnicodeScalar(digit)).isHexDigit else {
                    throw malformed("\\u without four hexadecimal digits")
                }
                position += 1
            }
        } else if !"\"\\/bfnrt".utf8.contains(byte) {
            throw malformed("unknown escape in a string")
        }
    }

    private mutating func number() throws(Malformed) {
        _ = take(UInt8(ascii: "-"))
        if !take(UInt8(ascii: "0")) { try digits() }
        if take(UInt8(ascii: ".")) { try digits() }
        if take(UInt8(ascii: "e")) || take(UInt8(ascii: "E")) {
            if !take(UInt8(ascii: "+")) { _ = take(UInt8(ascii: "-")) }
            try digits()
        }
    }

    private mutating func digits() throws(Malformed) {
        let start = position
        while let byte = next, Self.isDigit(byte) { position += 1 }
        if position == start { throw malformed("a digit expected") }
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }

    private mutating func word(_ word: StaticString) throws(Malformed) {
        let letters = word.withUTF8Buffer { Array($0) }
        guard bytes[position...].starts(with: letters) else { throw malformed("not a JSON value") }
        position += letters.count
    }
}
