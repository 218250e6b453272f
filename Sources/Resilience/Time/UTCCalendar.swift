/// The Gregorian calendar, extended backwards, always UTC.
package enum UTCCalendar {
    package static let secondsADay: Int64 = 86_400

    /// The seconds since 1970-01-01 00:00:00, without leap seconds; nil for a day that does not exist.
    /// - Parameters:
    ///   - month: From 1 to 12; nil for any other.
    ///   - time: In seconds since midnight.
    package static func seconds(year: Int64, month: Int, day: Int64, time: Int64) -> Int64? {
        guard (1...12).contains(month), day >= 1, day <= length(of: month, in: year) else { return nil }
        return days(year: year, month: month, day: day) * secondsADay + time
    }

    /// The days since 1970-01-01. `month` from 1 to 12.
    ///
    /// Years are counted from March, so that the leap day is the last day of a year: "days_from_civil" of Howard
    /// Hinnant's "chrono-Compatible Low-Level Date Algorithms".
    package static func days(year: Int64, month: Int, day: Int64) -> Int64 {
        let marchYear = month < 3 ? year - 1 : year
        let era = (marchYear >= 0 ? marchYear : marchYear - 399) / 400
        let yearOfEra = marchYear - era * 400
        let dayOfYear = (153 * Int64((month + 9) % 12) + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        return era * daysAnEra + dayOfEra - daysFromMarchOfYearZeroTo1970
    }

    private static func length(of month: Int, in year: Int64) -> Int64 {
        let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
        return month == 2 && isLeap ? 29 : monthLengths[month - 1]
    }

    /// 400 years, after which the calendar repeats.
    private static let daysAnEra: Int64 = 146_097
    private static let daysFromMarchOfYearZeroTo1970: Int64 = 719_468
    private static let monthLengths: [Int64] = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
}
