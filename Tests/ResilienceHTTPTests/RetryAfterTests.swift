import Resilience
import ResilienceHTTP
import Testing

/// 1994-11-06 08:49:37 UTC, the RFC's own example.
private let example: Int64 = 784_111_777

@Suite struct RetryAfterTests {
    @Test(
        "a number of seconds is a wait of that length",
        arguments: [
            ("0", 0), ("1", 1), ("120", 120), ("007", 7), ("86400", 86_400), (" 5", 5), ("5\t ", 5),
            ("9223372036", 9_223_372_036),
        ] as [(String, Int64)])
    func delaySeconds(value: String, seconds: Int64) {
        #expect(RetryAfter.wait(value) == .seconds(seconds))
    }

    @Test(
        "a negative Retry-After is ignored, not read as zero (P15)", arguments: ["-1", "-0", "-120", " -1", "−1"])
    func negative(value: String) {
        #expect(RetryAfter.wait(value, now: example) == nil)
    }

    @Test(
        "a value that is neither a number nor a date is ignored, not guessed",
        arguments: [
            "", " ", "\t", "+5", "2.0", "2,5", "1e3", "0x10", "5s", "5 s", "1 2", "5, 10", "120, 120", "soon", "\u{0}",
            "٥", "5\u{A0}", "５", "\r\n5", "5\u{301}",
        ])
    func ignored(value: String) {
        #expect(RetryAfter.wait(value, now: example) == nil)
    }

    @Test(
        "a number too large for any clock saturates",
        arguments: [
            "9223372037", "9223372036854775807", "9223372036854775808", "18446744073709551616",
            String(repeating: "9", count: 10_000), "1" + String(repeating: "0", count: 100),
        ])
    func tooManyDigits(value: String) throws {
        let wait = try #require(RetryAfter.wait(value))
        #expect(wait == .nanoseconds(Int64.max))
        #expect(MonotonicInstant(nanoseconds: 1).advanced(by: wait) == .distantFuture)
    }

    @Test(
        "a date in any of the three forms counts from the clock",
        arguments: [
            "Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994",
            "Sun Nov 06 08:49:37 1994", " Sun, 06 Nov 1994 08:49:37 GMT\t",
            // The weekday is only a name.
            "Wed, 06 Nov 1994 08:49:37 GMT",
        ])
    func dates(value: String) {
        #expect(RetryAfter.wait(value, now: example - 90) == .seconds(90))
        #expect(RetryAfter.wait(value, now: example) == .zero)
    }

    @Test("a past date means no wait", arguments: [1, 3_600, Int64.max - example])
    func past(elapsed: Int64) {
        #expect(RetryAfter.wait("Sun, 06 Nov 1994 08:49:37 GMT", now: example + elapsed) == .zero)
    }

    @Test("a date beyond all clocks saturates", arguments: [Int64.min, -9_223_372_036])
    func distantDate(now: Int64) {
        #expect(RetryAfter.wait("Fri, 31 Dec 9999 23:59:59 GMT", now: now) == .nanoseconds(Int64.max))
    }

    @Test(
        "a date that HTTP's forms do not allow is ignored",
        arguments: [
            // Case and zone.
            "sun, 06 Nov 1994 08:49:37 GMT", "Sun, 06 nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:37 gmt",
            "Sun, 06 Nov 1994 08:49:37 UTC", "Sun, 06 Nov 1994 08:49:37 +0000", "Sun, 06 Nov 1994 08:49:37",
            "Sun Nov  6 08:49:37 1994 GMT",
            // Names.
            "Son, 06 Nov 1994 08:49:37 GMT", "Sun, 06 Nob 1994 08:49:37 GMT", "06 Nov 1994 08:49:37 GMT",
            "Sunday, 06 Nov 1994 08:49:37 GMT", "Sun, 06-Nov-94 08:49:37 GMT", "Sundae, 06-Nov-94 08:49:37 GMT",
            // Spaces and lengths.
            "Sun,06 Nov 1994 08:49:37 GMT", "Sun,  06 Nov 1994 08:49:37 GMT", "Sun, 6 Nov 1994 08:49:37 GMT",
            "Sun, 06 Nov 94 08:49:37 GMT", "Sun, 06 Nov 1994 8:49:37 GMT", "Sun, 06 Nov 1994 08:49 GMT",
            "Sun, 06 Nov 1994 08:49:37.5 GMT", "Sun, 06 Nov 11994 08:49:37 GMT", "Sun Nov 6 08:49:37 1994",
            "Sun Nov   6 08:49:37 1994", "Sunday, 06-Nov-1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:37 GMT, 5",
            // The calendar and the clock.
            "Sun, 00 Nov 1994 08:49:37 GMT", "Sun, 31 Nov 1994 08:49:37 GMT", "Sun, 32 Dec 1994 08:49:37 GMT",
            "Sun, 29 Feb 1994 08:49:37 GMT", "Sun, 29 Feb 1900 08:49:37 GMT", "Sun, 30 Feb 2000 08:49:37 GMT",
            "Sun Feb 29 08:49:37 1994", "Sunday, 29-Feb-94 08:49:37 GMT", "Sun Nov  0 08:49:37 1994",
            "Sun, 06 Nov 1994 24:00:00 GMT", "Sun, 06 Nov 1994 08:60:37 GMT", "Sun, 06 Nov 1994 08:49:61 GMT",
            "Sun, -6 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 -8:49:37 GMT",
        ])
    func malformedDates(value: String) {
        #expect(RetryAfter.wait(value, now: 0) == nil)
    }

    @Test("the leap second 60 is one second after second 59")
    func leapSecond() {
        #expect(RetryAfter.wait("Sat, 31 Dec 2016 23:59:60 GMT", date: "Sat, 31 Dec 2016 23:59:59 GMT") == .seconds(1))
        #expect(RetryAfter.wait("Sat, 31 Dec 2016 23:59:60 GMT", date: "Sun, 01 Jan 2017 00:00:00 GMT") == .zero)
    }

    @Test("29 February is accepted in leap years", arguments: ["1996", "2000", "2400"])
    func leapDay(year: String) {
        let wait = RetryAfter.wait("Thu, 01 Mar \(year) 00:00:00 GMT", date: "Thu, 29 Feb \(year) 00:00:00 GMT")
        #expect(wait == .seconds(86_400))
    }

    @Test(
        "the day after the last of a month is ignored",
        arguments: zip(
            [
                "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
            ], [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]))
    func monthEnds(month: String, last: Int) {
        #expect(RetryAfter.wait("Thu, \(last) \(month) 2119 00:00:00 GMT", now: example) != nil)
        #expect(RetryAfter.wait("Thu, \(last + 1) \(month) 2119 00:00:00 GMT", now: example) == nil)
    }

    // MARK: The reference

    @Test(
        "a date counts from the response's own Date, however wrong our clock is",
        arguments: [0, example - 1_000_000, example, example + 1_000_000, .max, .min])
    func ownDate(now: Int64) {
        let wait = RetryAfter.wait(
            "Sun, 06 Nov 1994 08:49:37 GMT", date: "Sun, 06 Nov 1994 08:47:37 GMT", now: now)
        #expect(wait == .seconds(120))
    }

    @Test("an unreadable Date is ignored", arguments: ["", "yesterday", "784111777", "-1"])
    func unreadableDate(date: String) {
        #expect(RetryAfter.wait("Sun, 06 Nov 1994 08:49:37 GMT", date: date, now: example - 5) == .seconds(5))
    }

    @Test("a number of seconds needs no date")
    func delayIgnoresDate() {
        #expect(RetryAfter.wait("120", date: "Sun, 06 Nov 1994 08:49:37 GMT", now: 0) == .seconds(120))
    }

    @Test("without a clock and a Date, the machine's clock is read")
    func machineClock() throws {
        #expect(RetryAfter.wait("Sun, 06 Nov 1994 08:49:37 GMT") == .zero)
        // 1 January 2200 is some 170 years after the writing of this test.
        let wait = try #require(RetryAfter.wait("Wed, 01 Jan 2200 00:00:00 GMT"))
        #expect(wait > .zero && wait < .seconds(180 * 366 * 86_400))
    }

    @Test("part of a second is never rounded down to no wait")
    func partOfASecond() {
        // At 36.999 s the clock reads 36 whole seconds: the wait until 37 is 1 s, not 0.
        let now = Duration.seconds(example - 1) + .milliseconds(999)
        let wait = RetryAfter.wait("Sun, 06 Nov 1994 08:49:37 GMT", now: now.components.seconds)
        #expect(wait == .seconds(1))
    }

    // MARK: The century of a two-digit year

    @Test(
        "a two-digit year is at most 50 years ahead",
        arguments: [
            // now, value, the same with all digits
            ("Sun, 06 Nov 1994 08:49:37 GMT", "Monday, 07-Nov-94 00:00:00 GMT", "Mon, 07 Nov 1994 00:00:00 GMT"),
            ("Fri, 31 Dec 1999 23:59:00 GMT", "Saturday, 01-Jan-00 00:00:00 GMT", "Sat, 01 Jan 2000 00:00:00 GMT"),
            ("Sat, 01 Jan 2000 00:00:00 GMT", "Friday, 31-Dec-99 23:59:00 GMT", "Fri, 31 Dec 1999 23:59:00 GMT"),
            // Exactly 50 years ahead, and one second more.
            ("Thu, 01 Jan 2026 00:00:00 GMT", "Wednesday, 01-Jan-76 00:00:00 GMT", "Wed, 01 Jan 2076 00:00:00 GMT"),
            ("Thu, 01 Jan 2026 00:00:00 GMT", "Thursday, 01-Jan-76 00:00:01 GMT", "Thu, 01 Jan 1976 00:00:01 GMT"),
            ("Mon, 01 Jun 2060 00:00:00 GMT", "Friday, 01-Jan-10 00:00:00 GMT", "Wed, 01 Jan 2110 00:00:00 GMT"),
        ])
    func century(now: String, value: String, full: String) throws {
        let now = try #require(epochSeconds(now))
        let from = try #require(epochSeconds(full))
        // Used as a Date, the value is the reference, and so shows the year that was read.
        #expect(RetryAfter.wait("Fri, 31 Dec 2120 00:00:00 GMT", date: value, now: now) == until2120(from))
        #expect(RetryAfter.wait(value, now: now) == .seconds(max(0, from - now)))
    }

    @Test("29 February in a century without one is ignored")
    func noLeapDay() throws {
        let now = try #require(epochSeconds("Mon, 01 Jun 2060 00:00:00 GMT"))
        #expect(RetryAfter.wait("Monday, 29-Feb-00 00:00:00 GMT", now: now) == nil)
        #expect(RetryAfter.wait("Sunday, 28-Feb-00 00:00:00 GMT", now: now) != nil)
    }

    @Test("a clock at either end of its range does not trap", arguments: [Int64.min, .min + 1, -1, 0, .max - 1, .max])
    func extremeClocks(now: Int64) {
        for value in ["Sunday, 06-Nov-94 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:37 GMT", "Sat Jan  1 00:00:00 0000"] {
            if let wait = RetryAfter.wait(value, now: now) { #expect(wait >= .zero) }
        }
    }

    private func until2120(_ from: Int64) -> Duration? {
        epochSeconds("Fri, 31 Dec 2120 00:00:00 GMT").map { .seconds($0 - from) }
    }
}

/// Seconds since 1970 of a date after 1900, read by the parser itself.
private func epochSeconds(_ date: String) -> Int64? {
    let year1900: Int64 = -2_208_988_800
    return RetryAfter.wait(date, now: year1900).map { $0.components.seconds + year1900 }
}
