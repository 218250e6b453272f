import Resilience

/// Reads an HTTP field value byte by byte, from the left. It never traps, whatever the bytes.
struct FieldCursor {
    private var rest: Substring.UTF8View

    /// Starts after the optional whitespace around the value, which is not part of it (RFC 9110 §5.5).
    init(_ value: String) {
        var rest = value[...].utf8
        while let byte = rest.first, byte.isOptionalWhitespace { rest.removeFirst() }
        while let byte = rest.last, byte.isOptionalWhitespace { rest.removeLast() }
        self.rest = rest
    }

    var isAtEnd: Bool { rest.isEmpty }

    /// Whether only spaces and parameters are left, which are ignored: `;comment=1`.
    mutating func isAtParameters() -> Bool {
        skipSpaces()
        return isAtEnd || next == UInt8(ascii: ";")
    }

    /// Steps over `literal`, compared byte by byte: HTTP dates are case-sensitive.
    mutating func skip(_ literal: String) -> Bool {
        guard rest.starts(with: literal.utf8) else { return false }
        rest = rest.dropFirst(literal.utf8.count)
        return true
    }

    /// A number of exactly `count` digits, at most 18.
    mutating func number(digits count: Int) -> Int64? {
        var number: Int64 = 0
        for _ in 0..<count {
            guard let digit = nextDigit() else { return nil }
            number = number * 10 + digit
        }
        return number
    }

    /// The number in all remaining digits, saturating; nil if anything but a digit is left.
    mutating func numberToEnd() -> Int64? {
        guard !isAtEnd else { return nil }
        var number: Int64 = 0
        while !isAtEnd {
            guard let digit = nextDigit() else { return nil }
            number = number.saturatingMultiplied(by: 10).saturatingAdding(digit)
        }
        return number
    }

    /// The number in the next digits, saturating; nil if there is none.
    mutating func digits() -> Int64? {
        guard var number = nextDigit() else { return nil }
        while let digit = nextDigit() { number = number.saturatingMultiplied(by: 10).saturatingAdding(digit) }
        return number
    }

    /// A number with or without a fraction, times `unit`, in nanoseconds: rounded up and saturating; nil if there is
    /// none. The fraction has digits on both sides of its point.
    mutating func nanoseconds(unit: Int64) -> Int64? {
        guard let whole = digits() else { return nil }
        var nanoseconds = whole.saturatingMultiplied(by: unit)
        var next = self
        guard next.skip("."), var digit = next.nextDigit() else { return nanoseconds }
        var (scale, hasRest) = (unit, false)
        while true {
            // Less than a nanosecond rounds up.
            hasRest = hasRest || (scale > 0 ? digit * scale % 10 > 0 : digit > 0)
            nanoseconds = nanoseconds.saturatingAdding(digit * scale / 10)
            scale /= 10
            guard let following = next.nextDigit() else { break }
            digit = following
        }
        self = next
        return hasRest ? nanoseconds.saturatingAdding(1) : nanoseconds
    }

    mutating func skipSpaces() {
        while let byte = rest.first, byte.isOptionalWhitespace { rest.removeFirst() }
    }

    /// The next byte, which is not consumed.
    var next: UInt8? { rest.first }

    mutating func take() -> UInt8? { rest.isEmpty ? nil : rest.removeFirst() }

    /// The index of the next name, which is consumed.
    mutating func index(in names: [String]) -> Int? {
        for (index, name) in names.enumerated() where skip(name) { return index }
        return nil
    }

    private mutating func nextDigit() -> Int64? {
        guard let byte = rest.first, byte.isDigit else { return nil }
        rest.removeFirst()
        return Int64(byte - UInt8(ascii: "0"))
    }
}

/// ASCII's characters.
extension UInt8 {
    var isDigit: Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(self) }
    var isLowerCase: Bool { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(self) }
    var isUpperCase: Bool { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(self) }
    var isLetter: Bool { isLowerCase || isUpperCase }
    fileprivate var isOptionalWhitespace: Bool { self == UInt8(ascii: " ") || self == UInt8(ascii: "\t") }
}
