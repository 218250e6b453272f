import Resilience
import ResilienceHTTP

/// Compares the reader of `Retry-After` with a second one, which reads by the value's shape and by a counted calendar.
package enum RetryAfterOracle {
    /// - Parameter input: Three lines: the wall clock in seconds, the response's `Date` or nothing, and the value. Any
    ///   other input is only a value, read with the clock at 1970.
    /// - Returns: Whether the value was accepted as a wait.
    package static func check(_ input: [UInt8]) throws -> Bool {
        let lines = input.split(separator: UInt8(ascii: "\n"), maxSplits: 2, omittingEmptySubsequences: false)
            .map { String(decoding: $0, as: UTF8.self) }
        guard lines.count == 3, let now = Int64(lines[0]) else {
            return try check(String(decoding: input, as: UTF8.self), date: nil, now: 0)
        }
        return try check(lines[2], date: lines[1].isEmpty ? nil : lines[1], now: now)
    }

    private static func check(_ value: String, date: String?, now: Int64) throws -> Bool {
        let wait = RetryAfter.wait(value, date: date, now: now)
        try expect(wait == RetryAfter.wait(value, date: date, now: now), "\(value) is read in two ways")
        try expect(wait.map { .zero <= $0 && $0 <= .nanoseconds(Int64.max) } ?? true, "\(value) is out of range")
        let expected = expectedWait(value, date: date, now: now)
        try expect(
            wait == expected,
            "\(value.debugDescription), dated \(date?.debugDescription ?? "never"), at \(now) is read as "
                + "\(wait.map { "\($0)" } ?? "nothing"), not as \(expected.map { "\($0)" } ?? "nothing")")
        return wait != nil
    }

    private static func expectedWait(_ value: String, date: String?, now: Int64) -> Duration? {
        let text = Text(value)
        if !text.shape.isEmpty, text.shape.allSatisfy({ $0 == "0" }) {
            return wait(Int128(text.numbers[0] ?? .max))
        }
        let reference = date.flatMap { Text($0).epochSeconds(now: now) } ?? now
        return text.epochSeconds(now: reference).map { wait(Int128($0) - Int128(reference)) }
    }

    private static func wait(_ seconds: Int128) -> Duration {
        .nanoseconds(Int64(clamping: max(0, seconds) * 1_000_000_000))
    }
}

/// The shape of a field value (each digit as `0`, each letter as `a`), and its runs of digits and letters.
private struct Text {
    private(set) var shape = ""
    /// nil for too many digits.
    private(set) var numbers: [Int64?] = []
    private(set) var words: [String] = []

    init(_ value: String) {
        var rest = Array(value.utf8)[...]
        while let byte = rest.first, byte == 0x20 || byte == 0x09 { rest.removeFirst() }
        while let byte = rest.last, byte == 0x20 || byte == 0x09 { rest.removeLast() }
        var shape: [UInt8] = []
        while let kind = rest.first.map(Self.kind) {
            let run = rest.prefix { Self.kind($0) == kind }
            rest = rest.dropFirst(run.count)
            shape += repeatElement(kind, count: run.count)
            if kind == UInt8(ascii: "0") { numbers.append(Int64(String(decoding: run, as: UTF8.self))) }
            if kind == UInt8(ascii: "a") { words.append(String(decoding: run, as: UTF8.self)) }
        }
        self.shape = String(decoding: shape, as: UTF8.self)
    }

    private static func kind(_ byte: UInt8) -> UInt8 {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): UInt8(ascii: "a")
        default: byte
        }
    }

    /// nil if it is not a date.
    func epochSeconds(now: Int64) -> Int64? {
        let numbers = numbers.compactMap { $0 }
        switch shape {
        case "aaa, 00 aaa 0000 00:00:00 aaa" where words[2] == "GMT":
            return epochSeconds(Self.shortDays, numbers[0], words[1], numbers[1], numbers[2...])
        case "aaa aaa 00 00:00:00 0000", "aaa aaa  0 00:00:00 0000":
            return epochSeconds(Self.shortDays, numbers[0], words[1], numbers[4], numbers[1...])
        case _
        where shape.utf8.drop { $0 == UInt8(ascii: "a") }.elementsEqual(Self.tailOfRFC850) && words.last == "GMT":
            let century = (Int64(0)...99).reversed().first { century in
                let fiftyYearsAgo = century * 100 + numbers[1] - 50
                let start = Calendar.epochSeconds(numbers[0], words[1], fiftyYearsAgo)
                return start.map { $0 + seconds(numbers[2...]) <= now } ?? false
            }
            return century.flatMap {
                epochSeconds(Self.longDays, numbers[0], words[1], $0 * 100 + numbers[1], numbers[2...])
            }
        default:
            return nil
        }
    }

    private func epochSeconds(
        _ days: [String], _ day: Int64, _ month: String, _ year: Int64, _ time: ArraySlice<Int64>
    ) -> Int64? {
        let isTime = zip(time, [23, 59, 60]).allSatisfy { $0 <= $1 }
        guard days.contains(words[0]), isTime, let length = Calendar.length(of: month, in: year),
            (1...length).contains(day)
        else { return nil }
        return Calendar.epochSeconds(day, month, year).map { $0 + seconds(time) }
    }

    /// The number of seconds in a time of hours, minutes and seconds.
    private func seconds(_ time: ArraySlice<Int64>) -> Int64 {
        time.prefix(3).reduce(0) { $0 * 60 + $1 }
    }

    private static let tailOfRFC850 = Array(", 00-aaa-00 00:00:00 aaa".utf8)
    private static let shortDays = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]
    private static let longDays = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
}

/// The Gregorian calendar from the year -50, month by month.
private enum Calendar {
    private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

    /// Each month's first day from January of the year -50 to January of 10 000, in days since 1970.
    private static let starts: [Int64] = {
        var starts: [Int64] = [0]
        for year in -50...9_999 {
            let isLeap = year % 400 == 0 || (year % 4 == 0 && year % 100 != 0)
            for length in [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] {
                starts.append(starts[starts.count - 1] + Int64(length))
            }
        }
        let of1970 = starts[(1_970 + 50) * 12]
        return starts.map { $0 - of1970 }
    }()

    private static func index(of month: String, in year: Int64) -> Int? {
        months.firstIndex(of: month).map { (Int(year) + 50) * 12 + $0 }
    }

    static func length(of month: String, in year: Int64) -> Int64? {
        index(of: month, in: year).map { starts[$0 + 1] - starts[$0] }
    }

    /// Midnight of a day. A day that the month does not have counts into the next month: 29 February of a common year
    /// is 1 March.
    static func epochSeconds(_ day: Int64, _ month: String, _ year: Int64) -> Int64? {
        index(of: month, in: year).map { (starts[$0] + day - 1) * 86_400 }
    }
}
