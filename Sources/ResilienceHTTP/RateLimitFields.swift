public import Resilience

/// The remaining quotas in a response's fields, and the wait that the server asks for.
///
/// ```swift
/// let fields = RateLimitFields { response.headers[$0] }
/// for quota in fields.quotas { pipeline.note(quota) }
/// ```
///
/// An unreadable field counts as missing: nothing is guessed. Numbers too large for their type become its maximum. See
/// ``RateLimitDialect`` for the forms.
public struct RateLimitFields {
    /// The limits in the fields; empty if none.
    public let quotas: [ServerQuota]
    /// The wait that the server asks for: gRPC's pushback, a field in milliseconds such as `Retry-After-Ms`, or else
    /// `Retry-After`.
    ///
    /// nil for none.
    public let retryAfter: Duration?
    /// Whether the server wants the request repeated: `x-should-retry`, `stripe-should-retry`, `x-envoy-overloaded`, or
    /// gRPC's pushback.
    ///
    /// nil without any of these.
    public let shouldRetry: Bool?

    /// Reads the fields of a response.
    ///
    /// - Parameters:
    ///   - dialect: The format in which the server states its limits.
    ///   - now: The wall clock in seconds since 1970, as for ``RetryAfter``; nil, the default, reads the machine's
    ///     clock.
    ///   - header: Returns the value of a response field, with any case in the response; called with lower-case
    ///     names.
    public init(dialect: RateLimitDialect = .automatic, now: Int64? = nil, header: (String) -> String?) {
        var reader = RateLimitReader(dialect: dialect, givenNow: now, date: header("date"))
        quotas = reader.quotas(header)
        (retryAfter, shouldRetry) = reader.asked(header)
    }

    /// The longest wait of the exhausted limits; nil if there is none.
    public var quotaWait: Duration? { quotas.compactMap(\.wait).max() }
}

extension RateLimitFields {
    /// The wait that `grpc-retry-pushback-ms` asks for, in whole milliseconds; nil if it asks not to retry.
    ///
    /// In gRPC's design A6 the value is a 32-bit integer, and "negative or unparseable" means not to retry. A number
    /// with a fraction is not such an integer, but names a wait, so it is rounded up.
    package static func pushback(_ value: String) -> Duration? {
        guard let wait = RateLimitReader.duration(value, unit: 1_000_000)?.saturatedNanoseconds else { return nil }
        let milliseconds = wait / 1_000_000 + (wait % 1_000_000 == 0 ? 0 : 1)
        return milliseconds <= Int32.max ? .milliseconds(milliseconds) : nil
    }
}

/// Reads a response's fields, by a row of the table.
struct RateLimitReader {
    private let dialect: RateLimitDialect
    private let row: RateLimitRow
    private let givenNow: Int64?
    private let date: String?
    private var reference: Int64?

    init(dialect: RateLimitDialect, givenNow: Int64?, date: String?) {
        (self.dialect, row) = (dialect, .row(of: dialect))
        (self.givenNow, self.date) = (givenNow, date)
    }

    // MARK: Requested waits

    mutating func asked(_ header: (String) -> String?) -> (wait: Duration?, shouldRetry: Bool?) {
        let pushback = dialect.includes(.grpc) ? header("grpc-retry-pushback-ms").map(RateLimitFields.pushback) : nil
        let word = Self.serversWord(header)
        if let pushback { return (pushback, pushback == nil ? false : word) }
        for field in row.waits {
            if let wait = header(field).flatMap({ Self.duration($0, unit: 1_000_000) }) { return (wait, word) }
        }
        return (retryAfter(header), word)
    }

    private mutating func retryAfter(_ header: (String) -> String?) -> Duration? {
        guard let value = header("retry-after") else { return nil }
        if let wait = RetryAfter.wait(value, date: date, now: givenNow) { return wait }
        var mayHaveFraction = dialect != .automatic && !row.fractions.isEmpty
        for form in row.fractions where !mayHaveFraction { mayHaveFraction = !quotas(form, header).isEmpty }
        return mayHaveFraction ? Self.duration(value, unit: 1_000_000_000) : nil
    }

    private static func serversWord(_ header: (String) -> String?) -> Bool? {
        for name in ["x-should-retry", "stripe-should-retry"] {
            var cursor = FieldCursor(header(name) ?? "")
            if cursor.skip("true"), cursor.isAtEnd { return true }
            if cursor.skip("false"), cursor.isAtEnd { return false }
        }
        // Envoy never repeats a request with this answer, whatever the field's value.
        return header("x-envoy-overloaded") == nil ? nil : false
    }

    // MARK: Remaining quotas

    mutating func quotas(_ header: (String) -> String?) -> [ServerQuota] {
        var quotas: [ServerQuota] = []
        for form in row.limits { quotas += self.quotas(form, header) }
        return quotas
    }

    private mutating func quotas(_ form: LimitForm, _ header: (String) -> String?) -> [ServerQuota] {
        switch form {
        case .list: list(header)
        case .dictionary: dictionary(header)
        case .numbers(let fields): numbers(fields, header)
        case .share(let field): header(field).flatMap(Self.share).map { [$0] } ?? []
        case .categories(let field): header(field).map { categories($0) } ?? []
        }
    }

    private mutating func list(_ header: (String) -> String?) -> [ServerQuota] {
        func items(_ field: String, count: String, time: String) -> [StructuredList.Item] {
            let items = header(field).flatMap(StructuredList.init)?.items ?? []
            let areReadable = items.allSatisfy {
                $0.isCount(count, isRequired: true) && $0.isCount(time)
                    && $0.values["qu"].map { $0.text != nil } ?? true
            }
            return areReadable ? items : []
        }
        let limits = items("ratelimit", count: "r", time: "t")
        let policies = items("ratelimit-policy", count: "q", time: "w")
        let byName = Dictionary(policies.map { ($0.name, $0) }) { first, _ in first }
        let told = Set(limits.map(\.name))
        var quotas: [ServerQuota] = []
        for limit in limits { quotas.append(quota(limit.name, byName[limit.name], limit)) }
        for policy in policies where !told.contains(policy.name) {
            quotas.append(quota(policy.name, policy, nil))
        }
        return quotas
    }

    private mutating func quota(
        _ name: String, _ policy: StructuredList.Item?, _ limit: StructuredList.Item?
    ) -> ServerQuota {
        ServerQuota(
            name: name, unit: policy?.values["qu"]?.text,
            limit: policy?.values["q"]?.wholeNumber.map { Int(clamping: $0) },
            remaining: limit?.values["r"]?.wholeNumber.map { Int(clamping: $0) },
            resetsAfter: limit?.values["t"]?.wholeNumber.map { wait(of: $0) },
            window: policy?.values["w"]?.wholeNumber.map { .seconds($0) })
    }

    private mutating func dictionary(_ header: (String) -> String?) -> [ServerQuota] {
        let numbers = header("ratelimit").flatMap { StructuredDictionary($0) }?.numbers ?? [:]
        func count(_ key: String) -> Int64? { numbers[key].flatMap { $0 < 0 ? nil : $0 } }
        let (limit, remaining) = (count("limit"), count("remaining"))
        guard limit != nil || remaining != nil else { return [] }
        return [
            ServerQuota(
                limit: limit.map { Int(clamping: $0) }, remaining: remaining.map { Int(clamping: $0) },
                resetsAfter: count("reset").map { wait(of: $0) })
        ]
    }

    private mutating func numbers(_ fields: LimitFields, _ header: (String) -> String?) -> [ServerQuota] {
        let remaining = header(fields.remaining).flatMap { Self.count($0) }
        let limit = fields.limit.flatMap(header).flatMap { Self.count($0, mayBeList: true) }
        guard limit != nil || remaining != nil else { return [] }
        var resetsAfter: Duration?
        for field in fields.resets where resetsAfter == nil {
            resetsAfter = header(field).flatMap { reset($0) }
        }
        return [
            ServerQuota(
                name: fields.name, unit: fields.unit, limit: limit, remaining: remaining, resetsAfter: resetsAfter,
                window: fields.window.flatMap(header).flatMap { Self.duration($0, unit: 1_000_000) })
        ]
    }

    private static func share(_ value: String) -> ServerQuota? {
        var cursor = FieldCursor(value)
        guard let used = cursor.digits(), cursor.skip("/"), let limit = cursor.numberToEnd() else { return nil }
        return ServerQuota(limit: Int(clamping: limit), remaining: Int(clamping: max(0, limit - used)))
    }

    /// `<wait>:<categories>:<scope>:<reason>` for each exhausted limit. Without categories, the limit covers all
    /// categories.
    private mutating func categories(_ value: String) -> [ServerQuota] {
        var quotas: [ServerQuota] = []
        for group in value.split(separator: ",") {
            let parts = group.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
            guard let wait = reset(String(parts[0])) else { continue }
            let name = parts.count > 1 && !parts[1].isEmpty ? String(parts[1]) : nil
            quotas.append(ServerQuota(name: name, remaining: 0, resetsAfter: wait))
        }
        return quotas
    }

    // MARK: Values

    /// A number of 0 or more, rounded down, with or without parameters.
    /// - Parameter mayBeList: Whether more numbers may follow, as the windows do in drafts 0 to 2: `10, 10;w=1,
    ///   50;w=60`.
    private static func count(_ value: String, mayBeList: Bool = false) -> Int? {
        var cursor = FieldCursor(value)
        let number = cursor
        guard cursor.nanoseconds(unit: 1) != nil,
            cursor.isAtParameters() || mayBeList && cursor.next == UInt8(ascii: ",")
        else { return nil }
        cursor = number
        return cursor.digits().map { Int(clamping: $0) }
    }

    fileprivate static func duration(_ value: String, unit: Int64) -> Duration? {
        var cursor = FieldCursor(value)
        guard let nanoseconds = cursor.nanoseconds(unit: unit), cursor.isAtEnd else { return nil }
        return .nanoseconds(nanoseconds)
    }

    /// How long until a reset, in any form: a number, `6m0s`, or `2026-11-27T15:00:00Z`. Their shapes tell them apart.
    private mutating func reset(_ value: String) -> Duration? {
        var cursor = FieldCursor(value)
        let number = cursor
        if let nanoseconds = cursor.nanoseconds(unit: 1_000_000_000), cursor.isAtParameters() {
            cursor = number
            let whole = cursor.digits() ?? 0
            let fraction = nanoseconds.saturatingSubtracting(whole.saturatingMultiplied(by: 1_000_000_000))
            return wait(of: whole, fraction: .nanoseconds(fraction))
        }
        if let date = HTTPDate(rfc3339: value) { return wait(until: date.epochSeconds) }
        return Self.unitDuration(value)
    }

    /// The duration of a number: seconds from now; if it is too large for that, seconds since 1970 (10⁹ s is 2001); if
    /// it is still too large, milliseconds since 1970 (10¹² s is the year 33 658).
    ///
    /// Every number for a limit's reset goes through here, regardless of its dialect.
    private mutating func wait(of whole: Int64, fraction: Duration = .zero) -> Duration {
        if whole < 1_000_000_000 { return .seconds(whole) + fraction }
        if whole < 1_000_000_000_000 { return wait(until: whole, fraction > .zero ? .seconds(1) : .zero) }
        return wait(until: whole / 1_000, .milliseconds(whole % 1_000))
    }

    private mutating func wait(until epochSeconds: Int64, _ rest: Duration = .zero) -> Duration {
        max(.zero, .seconds(epochSeconds.saturatingSubtracting(now())) + rest)
    }

    /// `6m0s`, `12ms`, `1h2m3.5s`: Go's form of a duration, without a sign.
    private static func unitDuration(_ value: String) -> Duration? {
        var cursor = FieldCursor(value)
        var total: Int64 = 0
        guard !cursor.isAtEnd else { return nil }
        while !cursor.isAtEnd {
            let start = cursor
            // The unit follows the number, so the number is read twice.
            guard cursor.nanoseconds(unit: 1) != nil, let unit = cursor.index(in: unitNames) else { return nil }
            let end = cursor
            cursor = start
            guard let nanoseconds = cursor.nanoseconds(unit: units[unit]) else { return nil }
            total = total.saturatingAdding(nanoseconds)
            cursor = end
        }
        return .nanoseconds(total)
    }

    // `ms` before `m`, since the first that fits is taken.
    private static let unitNames = ["ms", "us", "µs", "ns", "d", "h", "m", "s"]
    private static let units: [Int64] = [
        1_000_000, 1_000, 1_000, 1, 86_400_000_000_000, 3_600_000_000_000, 60_000_000_000, 1_000_000_000,
    ]

    /// Seconds since 1970: the response's own `Date`, or else the wall clock.
    private mutating func now() -> Int64 {
        if let reference { return reference }
        let clock = givenNow ?? WallClock.epochSeconds
        let now = date.flatMap { HTTPDate($0, now: clock) }?.epochSeconds ?? clock
        reference = now
        return now
    }
}
