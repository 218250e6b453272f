public import Resilience

/// The fields in which servers say how much of a limit is left, and how long to wait.
///
/// ```swift
/// let fields = RateLimitFields { response.headers[$0] }
/// for quota in fields.quotas { pipeline.note(quota) }
/// ```
///
/// A field that can't be read counts as missing: nothing is guessed. Numbers too large for their type are cut to its
/// end. See ``RateLimitDialect`` for the forms.
public struct RateLimitFields {
    /// The limits that the fields tell of; empty if none.
    public let quotas: [ServerQuota]
    /// How long the server asks to wait: `Retry-After-Ms` or gRPC's pushback, else `Retry-After`. nil if it does not
    /// ask.
    public let retryAfter: Duration?
    /// What the server says of repeating the request: `x-should-retry`, `stripe-should-retry`, `x-envoy-overloaded`, or gRPC's pushback. nil
    /// if it says nothing.
    public let shouldRetry: Bool?

    /// Reads the fields of a response.
    /// - Parameters:
    ///   - dialect: How the server writes down its limits.
    ///   - now: The wall clock in seconds since 1970, as for ``RetryAfter``; nil, the default, reads the machine's.
    ///   - header: Returns the value of a response field, whatever the case of its name in the response; called with
    ///     lower-case names.
    public init(dialect: RateLimitDialect = .automatic, now: Int64? = nil, header: (String) -> String?) {
        var reader = RateLimitReader(dialect: dialect, givenNow: now)
        (retryAfter, shouldRetry) = reader.asked(header)
        quotas = reader.quotas(header)
    }

    /// The longest wait of the limits of which nothing is left; nil if there is none.
    public var quotaWait: Duration? { quotas.compactMap(\.wait).max() }
}

/// Reads a response's fields, as a dialect has them.
struct RateLimitReader {
    let dialect: RateLimitDialect
    let givenNow: Int64?
    private var reference: Int64?

    init(dialect: RateLimitDialect, givenNow: Int64?) {
        self.dialect = dialect
        self.givenNow = givenNow
    }

    // MARK: What is asked

    mutating func asked(_ header: (String) -> String?) -> (wait: Duration?, shouldRetry: Bool?) {
        let pushback = dialect.includes(.grpc) ? header("grpc-retry-pushback-ms").map(Self.milliseconds) : nil
        let word = Self.serversWord(header)
        if let pushback { return (pushback, pushback == nil ? false : word) }
        let milliseconds = dialect.includes(.openAI) ? header("retry-after-ms").flatMap(Self.milliseconds) : nil
        return (milliseconds ?? retryAfter(header), word)
    }

    private func retryAfter(_ header: (String) -> String?) -> Duration? {
        guard let value = header("retry-after") else { return nil }
        if let wait = RetryAfter.wait(value, date: header("date"), now: givenNow) { return wait }
        guard dialect == .shopify || dialect == .automatic && header(Self.shopify) != nil else { return nil }
        return Self.duration(value, unit: 1_000_000_000)
    }

    private static func serversWord(_ header: (String) -> String?) -> Bool? {
        for name in ["x-should-retry", "stripe-should-retry"] {
            var cursor = FieldCursor(header(name) ?? "")
            if cursor.skip("true"), cursor.isAtEnd { return true }
            if cursor.skip("false"), cursor.isAtEnd { return false }
        }
        // Envoy never repeats a request that was answered so, whatever the value.
        return header("x-envoy-overloaded") == nil ? nil : false
    }

    // MARK: What is left

    mutating func quotas(_ header: (String) -> String?) -> [ServerQuota] {
        var quotas: [ServerQuota] = []
        if dialect.includes(.ietf) { quotas += Self.structured(header) }
        if dialect.includes(.ietfDraft6), quotas.isEmpty {
            quotas += Self.quota(nil, header, prefix: "ratelimit-", suffix: "") {
                Self.duration($0, unit: 1_000_000_000)
            }
        }
        if dialect.includes(.gitHub) {
            for prefix in ["x-ratelimit-", "x-rate-limit-"] {
                quotas += Self.quota(nil, header, prefix: prefix, suffix: "") { untilEpoch($0, header("date")) }
            }
        }
        if dialect.includes(.openAI) {
            for name in ["requests", "tokens"] {
                quotas += Self.quota(name, header, prefix: "x-ratelimit-", suffix: "-\(name)", reset: Self.unitDuration)
            }
        }
        if dialect.includes(.shopify), let quota = header(Self.shopify).flatMap(Self.share) { quotas.append(quota) }
        return quotas
    }

    private static let shopify = "x-shopify-shop-api-call-limit"

    private static func structured(_ header: (String) -> String?) -> [ServerQuota] {
        guard let items = header("ratelimit").flatMap(StructuredList.init)?.items, !items.isEmpty,
            items.allSatisfy({ $0.isCount("r", isRequired: true) && $0.isCount("t") })
        else { return [] }
        let policies = header("ratelimit-policy").flatMap(StructuredList.init)?.items ?? []
        let arePolicies = policies.allSatisfy { $0.isCount("q", isRequired: true) && $0.isCount("w") }
        return items.map { item in
            let policy = arePolicies ? policies.first { $0.name == item.name } : nil
            return ServerQuota(
                name: item.name, limit: policy?.numbers["q"].map { Int(clamping: $0) },
                remaining: item.numbers["r"].map { Int(clamping: $0) },
                resetsAfter: item.numbers["t"].map { .seconds($0) }, window: policy?.numbers["w"].map { .seconds($0) })
        }
    }

    /// The limit of three fields, if the field of what remains can be read.
    private static func quota(
        _ name: String?, _ header: (String) -> String?, prefix: String, suffix: String, reset: (String) -> Duration?
    ) -> [ServerQuota] {
        guard let remaining = header("\(prefix)remaining\(suffix)").flatMap(count) else { return [] }
        return [
            ServerQuota(
                name: name, limit: header("\(prefix)limit\(suffix)").flatMap(firstCount), remaining: remaining,
                resetsAfter: header("\(prefix)reset\(suffix)").flatMap(reset))
        ]
    }

    // MARK: Values

    private static func count(_ value: String) -> Int? {
        var cursor = FieldCursor(value)
        return cursor.numberToEnd().map { Int(clamping: $0) }
    }

    /// The number that a value begins with: drafts before the sixth add the windows, as in `10, 10;w=1, 50;w=60`.
    private static func firstCount(_ value: String) -> Int? {
        var cursor = FieldCursor(value)
        let count = cursor.digits().map { Int(clamping: $0) }
        cursor.skipSpaces()
        return cursor.isAtEnd || cursor.next == UInt8(ascii: ",") || cursor.next == UInt8(ascii: ";") ? count : nil
    }

    private static func share(_ value: String) -> ServerQuota? {
        var cursor = FieldCursor(value)
        guard let used = cursor.digits(), cursor.skip("/"), let limit = cursor.numberToEnd(), used <= limit else {
            return nil
        }
        return ServerQuota(limit: Int(clamping: limit), remaining: Int(clamping: limit - used))
    }

    private static func milliseconds(_ value: String) -> Duration? { duration(value, unit: 1_000_000) }

    private static func duration(_ value: String, unit: Int64) -> Duration? {
        var cursor = FieldCursor(value)
        guard let nanoseconds = cursor.nanoseconds(unit: unit), cursor.isAtEnd else { return nil }
        return .nanoseconds(nanoseconds)
    }

    /// `6m0s`, `12ms`, `1h2m3.5s`: Go's form of a duration, without a sign.
    static func unitDuration(_ value: String) -> Duration? {
        var cursor = FieldCursor(value)
        var total: Int64 = 0
        guard !cursor.isAtEnd else { return nil }
        while !cursor.isAtEnd {
            let start = cursor
            // The unit is behind the number, so the number is read twice.
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

    /// How long until an instant: seconds since 1970, milliseconds if it is too large for that (10¹² s is the year 33
    /// 658), or seconds from now if it is too small (10⁹ s is 2001).
    private mutating func untilEpoch(_ value: String, _ date: String?) -> Duration? {
        var cursor = FieldCursor(value)
        guard let number = cursor.nanoseconds(unit: 1_000_000_000), cursor.isAtEnd else { return nil }
        if number < 1_000_000_000_000_000_000 { return .nanoseconds(number) }
        cursor = FieldCursor(value)
        guard let whole = cursor.digits() else { return nil }
        let isInMilliseconds = whole >= 1_000_000_000_000
        let now = now(date)
        let seconds = isInMilliseconds ? whole / 1_000 : whole
        let rest: Duration = isInMilliseconds ? .milliseconds(whole % 1_000) : cursor.isAtEnd ? .zero : .seconds(1)
        return max(.zero, .seconds(seconds.saturatingSubtracting(now)) + rest)
    }

    /// Seconds since 1970: the response's own `Date`, or else the wall clock.
    private mutating func now(_ date: String?) -> Int64 {
        if let reference { return reference }
        let clock = givenNow ?? WallClock.epochSeconds
        let now = date.flatMap { HTTPDate($0, now: clock) }?.epochSeconds ?? clock
        reference = now
        return now
    }
}
