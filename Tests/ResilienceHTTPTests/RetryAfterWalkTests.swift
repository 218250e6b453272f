import Resilience
import ResilienceHTTP
import Testing

/// The parser against every month of its calendar, and against what no server should send.
@Suite struct RetryAfterWalkTests {
    @Test("every month starts and ends where counting the days puts it")
    func calendar() {
        let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
        // 1 January of year 0, from the Julian day numbers 1 721 060 and 2 440 588.
        var start: Int64 = (1_721_060 - 2_440_588) * 86_400
        var wrong: [String] = []
        // The calendar repeats after 400 years.
        let read = [0...400, 1_600...2_400, 9_600...9_999]
        for year in 0...9_999 {
            let february = year % 400 == 0 || (year % 4 == 0 && year % 100 != 0) ? 29 : 28
            for (month, days) in zip(months, [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]) {
                let digits = String(10_000 + year).dropFirst()
                let first = "Mon, 01 \(month) \(digits) 00:00:00 GMT"
                let last = "Mon \(month) \(days) 23:59:59 \(digits)"
                let end = start + Int64(days) * 86_400
                defer { start = end }
                guard read.contains(where: { $0.contains(year) }) else { continue }
                // A second before it, so that a date read as too early does not hide behind the zero.
                if RetryAfter.wait(first, now: start - 1) != .seconds(1) { wrong.append(first) }
                if RetryAfter.wait(last, now: end - 2) != .seconds(1) { wrong.append(last) }
            }
        }
        #expect(wrong.isEmpty, "\(wrong.count), the first: \(wrong.first ?? "")")
        #expect(start == 253_402_300_800)  // 1 January 10000
    }

    @Test("200 000 mutated and random values: none traps, none is accepted that is not of the grammar")
    func fuzz() {
        var random = SplitMix64(state: 20_240_229)
        let valid = [
            "0", "120", "9223372036854775807", "Sun, 06 Nov 1994 08:49:37 GMT", "Tuesday, 29-Feb-00 23:59:60 GMT",
            "Wednesday, 31-Dec-99 00:00:00 GMT", "Sun Nov  6 08:49:37 1994", "Sat Dec 31 23:59:59 9999",
        ]
        let clocks: [Int64] = [.min, -62_167_219_200, 0, 784_111_777, 4_102_444_800, .max]
        var accepted = 0
        for _ in 0..<200_000 {
            let value = mutated(valid.randomElement(using: &random) ?? "", &random)
            let date = Bool.random(using: &random) ? nil : mutated(valid.randomElement(using: &random) ?? "", &random)
            let now = clocks.randomElement(using: &random)
            guard let wait = RetryAfter.wait(value, date: date, now: now) else { continue }
            accepted += 1
            guard wait >= .zero, wait <= .nanoseconds(Int64.max), isWellFormed(value) else {
                Issue.record("\(value.debugDescription) → \(wait), with \(String(describing: date)) at \(now ?? 0)")
                return
            }
        }
        // Some mutations hit digits only: if none were accepted, nothing of the above was tried.
        #expect(accepted > 20_000)
    }

    /// Up to four bytes of `value` replaced, dropped, doubled, cut off or swapped for noise. One in eight is all noise.
    private func mutated(_ value: String, _ random: inout SplitMix64) -> String {
        var bytes = Array(value.utf8)
        if UInt8.random(in: 0..<8, using: &random) == 0 {
            bytes = (0..<Int.random(in: 0...40, using: &random)).map { _ in UInt8.random(in: 0...255, using: &random) }
        }
        for _ in 0..<Int.random(in: 0...4, using: &random) {
            guard let index = bytes.indices.randomElement(using: &random) else { break }
            switch UInt8.random(in: 0..<6, using: &random) {
            case 0: bytes[index] = UInt8.random(in: 0...255, using: &random)
            case 1: bytes[index] = UInt8.random(in: UInt8(ascii: "0")...UInt8(ascii: "9"), using: &random)
            case 2: bytes.remove(at: index)
            case 3: bytes.insert(bytes[index], at: index)
            case 4: bytes.removeSubrange(index...)
            default: bytes.swapAt(index, Int.random(in: bytes.indices, using: &random))
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// The grammar told in another way: by shape, digits as `0`, letters as `a`.
    private func isWellFormed(_ value: String) -> Bool {
        var characters = Array(value.unicodeScalars)
        while characters.first == " " || characters.first == "\t" { characters.removeFirst() }
        while characters.last == " " || characters.last == "\t" { characters.removeLast() }
        var shape = ""
        for scalar in characters {
            switch scalar {
            case "0"..."9": shape += "0"
            case "a"..."z", "A"..."Z": shape += "a"
            default: shape.unicodeScalars.append(scalar)
            }
        }
        let dayLengths = [6, 7, 8, 9].map { String(repeating: "a", count: $0) }
        let dates =
            ["aaa, 00 aaa 0000 00:00:00 aaa", "aaa aaa 00 00:00:00 0000", "aaa aaa  0 00:00:00 0000"]
            + dayLengths.map { "\($0), 00-aaa-00 00:00:00 aaa" }
        return dates.contains(shape) || (!shape.isEmpty && shape.allSatisfy { $0 == "0" })
    }
}

/// Steele, Lea and Flood's generator: the same numbers on every run.
private struct SplitMix64: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
