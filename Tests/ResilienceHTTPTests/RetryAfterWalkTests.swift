import Resilience
import ResilienceHTTP
import Testing

/// The parser against every month of its calendar, and against values that no server should send.
@Suite struct RetryAfterWalkTests {
    @Test("each month's first and last day are read as the seconds that counting days gives")
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
                // The clock is one second earlier, so that a date that is read as too early does not also give zero.
                if RetryAfter.wait(first, now: start - 1) != .seconds(1) { wrong.append(first) }
                if RetryAfter.wait(last, now: end - 2) != .seconds(1) { wrong.append(last) }
            }
        }
        #expect(wrong.isEmpty, "\(wrong.count), the first: \(wrong.first ?? "")")
        #expect(start == 253_402_300_800)  // 1 January 10000
    }
}
