/// A point in time as HTTP writes it, in any of its three forms (RFC 9110 §5.6.7), always UTC.
///
/// - IMF-fixdate: `Sun, 06 Nov 1994 08:49:37 GMT`
/// - RFC 850, obsolete: `Sunday, 06-Nov-94 08:49:37 GMT`
/// - asctime, obsolete: `Sun Nov  6 08:49:37 1994`
///
/// Case-sensitive. Dates that no calendar has (31 April, hour 24) are rejected; second 60, a leap second, is allowed.
/// The weekday must be a valid name, but it is not compared with the date: the date alone is enough, and a wrong
/// weekday does no harm.
struct HTTPDate: Equatable {
    /// Seconds since 1970-01-01 00:00:00 UTC, without leap seconds; from year 0 to year 9999.
    let epochSeconds: Int64

    /// - Parameter now: Seconds since 1970; the century of a two-digit year is chosen by it.
    init?(_ value: String, now: Int64) {
        let cursor = FieldCursor(value)
        guard let seconds = Self.fixdate(cursor) ?? Self.rfc850(cursor, now: now) ?? Self.asctime(cursor) else {
            return nil
        }
        epochSeconds = seconds
    }

    private static func fixdate(_ start: FieldCursor) -> Int64? {
        var cursor = start
        guard cursor.index(in: shortDays) != nil, cursor.skip(", "),
            let day = cursor.number(digits: 2), cursor.skip(" "),
            let month = cursor.index(in: months), cursor.skip(" "),
            let year = cursor.number(digits: 4), cursor.skip(" "),
            let time = timeOfDay(&cursor), cursor.skip(" GMT"), cursor.isAtEnd
        else { return nil }
        return seconds(year: year, month: month, day: day, time: time)
    }

    private static func rfc850(_ start: FieldCursor, now: Int64) -> Int64? {
        var cursor = start
        guard cursor.index(in: longDays) != nil, cursor.skip(", "),
            let day = cursor.number(digits: 2), cursor.skip("-"),
            let month = cursor.index(in: months), cursor.skip("-"),
            let shortYear = cursor.number(digits: 2), cursor.skip(" "),
            let time = timeOfDay(&cursor), cursor.skip(" GMT"), cursor.isAtEnd
        else { return nil }
        // The latest year with these two digits that is not more than 50 years ahead. The test is turned around (has
        // the instant 50 years before it come?), so that `now` needs no calendar of its own.
        let year = stride(from: 9_900 + shortYear, through: 0, by: -100).first { year in
            days(year: year - 50, month: month, day: day) * secondsADay + time <= now
        }
        return year.flatMap { seconds(year: $0, month: month, day: day, time: time) }
    }

    private static func asctime(_ start: FieldCursor) -> Int64? {
        var cursor = start
        guard cursor.index(in: shortDays) != nil, cursor.skip(" "),
            let month = cursor.index(in: months), cursor.skip(" "),
            let day = cursor.skip(" ") ? cursor.number(digits: 1) : cursor.number(digits: 2), cursor.skip(" "),
            let time = timeOfDay(&cursor), cursor.skip(" "),
            let year = cursor.number(digits: 4), cursor.isAtEnd
        else { return nil }
        return seconds(year: year, month: month, day: day, time: time)
    }

    /// Seconds since midnight of `08:49:37`.
    private static func timeOfDay(_ cursor: inout FieldCursor) -> Int64? {
        guard let hour = cursor.number(digits: 2), hour < 24, cursor.skip(":"),
            let minute = cursor.number(digits: 2), minute < 60, cursor.skip(":"),
            let second = cursor.number(digits: 2), second <= 60
        else { return nil }
        return hour * 3_600 + minute * 60 + second
    }
}

// MARK: - The calendar

extension HTTPDate {
    /// `month` from 0.
    private static func seconds(year: Int64, month: Int, day: Int64, time: Int64) -> Int64? {
        guard day >= 1, day <= length(of: month, in: year) else { return nil }
        return days(year: year, month: month, day: day) * secondsADay + time
    }

    /// Days since 1970-01-01 in the Gregorian calendar, extended backwards. `month` from 0.
    ///
    /// Years are counted from March, so that the leap day is a year's last: "days_from_civil" of Howard Hinnant's
    /// "chrono-Compatible Low-Level Date Algorithms".
    private static func days(year: Int64, month: Int, day: Int64) -> Int64 {
        let marchYear = month < 2 ? year - 1 : year
        let era = (marchYear >= 0 ? marchYear : marchYear - 399) / 400
        let yearOfEra = marchYear - era * 400
        let dayOfYear = (153 * Int64((month + 10) % 12) + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        return era * daysAnEra + dayOfEra - daysFromMarchOfYearZeroTo1970
    }

    private static func length(of month: Int, in year: Int64) -> Int64 {
        let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
        return month == 1 && isLeap ? 29 : monthLengths[month]
    }

    private static let secondsADay: Int64 = 86_400
    /// 400 years, after which the calendar repeats.
    private static let daysAnEra: Int64 = 146_097
    private static let daysFromMarchOfYearZeroTo1970: Int64 = 719_468

    private static let monthLengths: [Int64] = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]
    private static let shortDays = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]
    private static let longDays = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
}
