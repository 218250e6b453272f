import Resilience

/// A point in time as HTTP writes it, in any of its three forms (RFC 9110 §5.6.7), always UTC; or as RFC 3339 does.
///
/// - IMF-fixdate: `Sun, 06 Nov 1994 08:49:37 GMT`
/// - RFC 850, obsolete: `Sunday, 06-Nov-94 08:49:37 GMT`
/// - asctime, obsolete: `Sun Nov  6 08:49:37 1994`
///
/// The forms are case-sensitive. Impossible dates (31 April, hour 24) are rejected; second 60, a leap second, is
/// allowed. The weekday must be a valid name, but it is not compared with the date: the date alone is enough, and a
/// wrong weekday does no harm.
struct HTTPDate: Equatable {
    /// Seconds since 1970-01-01 00:00:00 UTC, without leap seconds; from year 0 to year 9999.
    let epochSeconds: Int64

    /// - Parameter now: Seconds since 1970; decides the century of a two-digit year.
    init?(_ value: String, now: Int64) {
        let cursor = FieldCursor(value)
        guard let seconds = Self.fixdate(cursor) ?? Self.rfc850(cursor, now: now) ?? Self.asctime(cursor) else {
            return nil
        }
        epochSeconds = seconds
    }

    /// An instant of RFC 3339, rounded up to the second: `2026-11-27T15:00:00.25Z`, `2026-11-27T16:00:00+01:00`.
    init?(rfc3339 value: String) {
        var cursor = FieldCursor(value)
        guard let year = cursor.number(digits: 4), cursor.skip("-"),
            let month = cursor.number(digits: 2), cursor.skip("-"),
            let day = cursor.number(digits: 2), cursor.skip("T"), let time = Self.timeOfDay(&cursor),
            let seconds = UTCCalendar.seconds(year: year, month: Int(month), day: day, time: time)
        else { return nil }
        var fraction: Int64 = 0
        if cursor.skip(".") {
            guard let digits = cursor.digits() else { return nil }
            fraction = digits
        }
        guard let offset = Self.offset(&cursor), cursor.isAtEnd else { return nil }
        epochSeconds = seconds - offset + (fraction > 0 ? 1 : 0)
    }

    /// Seconds by which a time zone is ahead of UTC: `Z`, `+01:00`.
    private static func offset(_ cursor: inout FieldCursor) -> Int64? {
        if cursor.skip("Z") { return 0 }
        guard let isBehind = cursor.skip("+") ? false : cursor.skip("-") ? true : nil,
            let hours = cursor.number(digits: 2), hours < 24, cursor.skip(":"),
            let minutes = cursor.number(digits: 2), minutes < 60
        else { return nil }
        return (hours * 60 + minutes) * (isBehind ? -60 : 60)
    }

    private static func fixdate(_ start: FieldCursor) -> Int64? {
        var cursor = start
        guard cursor.index(in: shortDays) != nil, cursor.skip(", "),
            let day = cursor.number(digits: 2), cursor.skip(" "),
            let month = cursor.index(in: months), cursor.skip(" "),
            let year = cursor.number(digits: 4), cursor.skip(" "),
            let time = timeOfDay(&cursor), cursor.skip(" GMT"), cursor.isAtEnd
        else { return nil }
        return UTCCalendar.seconds(year: year, month: month + 1, day: day, time: time)
    }

    private static func rfc850(_ start: FieldCursor, now: Int64) -> Int64? {
        var cursor = start
        guard cursor.index(in: longDays) != nil, cursor.skip(", "),
            let day = cursor.number(digits: 2), cursor.skip("-"),
            let month = cursor.index(in: months), cursor.skip("-"),
            let shortYear = cursor.number(digits: 2), cursor.skip(" "),
            let time = timeOfDay(&cursor), cursor.skip(" GMT"), cursor.isAtEnd
        else { return nil }
        // The latest year with these two digits that is at most 50 years ahead. The test asks whether the instant 50
        // years earlier has come, so that `now` needs no calendar.
        let year = stride(from: 9_900 + shortYear, through: 0, by: -100).first { year in
            UTCCalendar.days(year: year - 50, month: month + 1, day: day) * UTCCalendar.secondsADay + time <= now
        }
        return year.flatMap { UTCCalendar.seconds(year: $0, month: month + 1, day: day, time: time) }
    }

    private static func asctime(_ start: FieldCursor) -> Int64? {
        var cursor = start
        guard cursor.index(in: shortDays) != nil, cursor.skip(" "),
            let month = cursor.index(in: months), cursor.skip(" "),
            let day = cursor.skip(" ") ? cursor.number(digits: 1) : cursor.number(digits: 2), cursor.skip(" "),
            let time = timeOfDay(&cursor), cursor.skip(" "),
            let year = cursor.number(digits: 4), cursor.isAtEnd
        else { return nil }
        return UTCCalendar.seconds(year: year, month: month + 1, day: day, time: time)
    }

    /// The seconds since midnight of a time such as `08:49:37`.
    private static func timeOfDay(_ cursor: inout FieldCursor) -> Int64? {
        guard let hour = cursor.number(digits: 2), hour < 24, cursor.skip(":"),
            let minute = cursor.number(digits: 2), minute < 60, cursor.skip(":"),
            let second = cursor.number(digits: 2), second <= 60
        else { return nil }
        return hour * 3_600 + minute * 60 + second
    }
}

extension HTTPDate {
    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]
    private static let shortDays = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]
    private static let longDays = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
}
