/// The fields of one dialect. To add a dialect, add a row to ``RateLimitRow/all``.
package struct RateLimitRow: Sendable {
    package let dialect: RateLimitDialect
    /// The URL of the server's documentation, or else of its own client.
    package let source: String
    package let limits: [LimitForm]
    /// The fields of a wait in milliseconds, which override `Retry-After`; the first readable one counts.
    package let waits: [String]
    /// If not empty, `Retry-After` may have a fraction; with `automatic`, only if the response has one of these limits.
    package let fractions: [LimitForm]

    private init(
        _ dialect: RateLimitDialect, _ limits: [LimitForm], waits: [String] = [], hasFractions: Bool = false,
        _ source: String
    ) {
        (self.dialect, self.limits, self.waits) = (dialect, limits, waits)
        (fractions, self.source) = (hasFractions ? limits : [], source)
    }

    /// The rows, in the order in which they read a response.
    package static let all: [RateLimitRow] = [
        RateLimitRow(.ietf, [.list], "https://datatracker.ietf.org/doc/draft-ietf-httpapi-ratelimit-headers/"),
        RateLimitRow(
            .ietfDraft7, [.dictionary], "https://datatracker.ietf.org/doc/draft-ietf-httpapi-ratelimit-headers/07/"),
        RateLimitRow(
            .ietfDraft6, [.each("ratelimit-*")],
            "https://datatracker.ietf.org/doc/draft-ietf-httpapi-ratelimit-headers/06/"),
        RateLimitRow(
            .gitHub, [.each("x-ratelimit-*"), .each("x-rate-limit-*")],
            "https://docs.github.com/en/rest/using-the-rest-api/rate-limits-for-the-rest-api"),
        RateLimitRow(
            .openAI,
            [.each("x-ratelimit-*-requests", "requests"), .each("x-ratelimit-*-tokens", "tokens", unit: "tokens")],
            waits: ["retry-after-ms"], "https://platform.openai.com/docs/guides/rate-limits"),
        RateLimitRow(
            .anthropic,
            [.each("anthropic-ratelimit-requests-*", "requests")]
                + ["tokens", "input-tokens", "output-tokens"].map { (name: String) in
                    .each("anthropic-ratelimit-\(name)-*", name, unit: "tokens")
                },
            waits: ["retry-after-ms"], "https://docs.claude.com/en/api/rate-limits"),
        RateLimitRow(
            .discord, [.each("x-ratelimit-*")], "https://docs.discord.com/developers/topics/rate-limits"),
        RateLimitRow(.mastodon, [.each("x-ratelimit-*")], "https://docs.joinmastodon.org/api/rate-limits/"),
        RateLimitRow(.reddit, [.each("x-ratelimit-*")], "https://github.com/reddit/reddit/wiki/API"),
        RateLimitRow(
            .sentry, [.each("x-sentry-rate-limit-*"), .categories("x-sentry-rate-limits")],
            "https://develop.sentry.dev/sdk/expected-features/rate-limiting/"),
        RateLimitRow(
            .hubSpot,
            [
                .numbers(
                    LimitFields(
                        "interval", limit: "x-hubspot-ratelimit-max", remaining: "x-hubspot-ratelimit-remaining",
                        window: "x-hubspot-ratelimit-interval-milliseconds")),
                .numbers(
                    LimitFields(
                        "daily", limit: "x-hubspot-ratelimit-daily",
                        remaining: "x-hubspot-ratelimit-daily-remaining")),
            ], "https://developers.hubspot.com/docs/api/usage-details"),
        RateLimitRow(.brevo, [.each("x-sib-ratelimit-*")], "https://developers.brevo.com/docs/limit-headers"),
        RateLimitRow(
            .azure,
            [
                "subscription-reads", "subscription-writes", "subscription-deletes", "subscription-global-reads",
                "subscription-global-writes", "subscription-global-deletes", "tenant-reads", "tenant-writes",
            ].map { .numbers(LimitFields($0, remaining: "x-ms-ratelimit-remaining-\($0)")) },
            waits: ["retry-after-ms", "x-ms-retry-after-ms"],
            "https://learn.microsoft.com/azure/azure-resource-manager/management/request-limits-and-throttling"),
        RateLimitRow(
            .aws, [], waits: ["x-amz-retry-after"],
            "https://github.com/smithy-lang/smithy-rs/blob/main/aws/rust-runtime/aws-runtime/src/retries/classifiers.rs"
        ),
        RateLimitRow(
            .shopify, [.share("x-shopify-shop-api-call-limit")], hasFractions: true,
            "https://shopify.dev/docs/api/admin-rest/usage/rate-limits"),
        // gRPC's field is more than a wait: see `RateLimitReader.asked`.
        RateLimitRow(.grpc, [], "https://github.com/grpc/proposal/blob/master/A6-client-retries.md"),
    ]

    static func row(of dialect: RateLimitDialect) -> RateLimitRow { byDialect[dialect] ?? RateLimitRow([]) }

    private static let byDialect = Dictionary(
        uniqueKeysWithValues: ([RateLimitRow(all)] + all).map { ($0.dialect, $0) })

    /// All fields of some rows, each once.
    private init(_ rows: [RateLimitRow]) {
        func once<Value: Hashable>(_ values: [Value]) -> [Value] {
            var seen: Set<Value> = []
            return values.filter { seen.insert($0).inserted }
        }
        (dialect, source) = (.automatic, "")
        (limits, waits) = (once(rows.flatMap(\.limits)), once(rows.flatMap(\.waits)))
        fractions = rows.flatMap(\.fractions)
    }
}

/// The form of a limit.
package enum LimitForm: Sendable, Hashable {
    /// `RateLimit` and `RateLimit-Policy`, as structured lists.
    case list
    /// `RateLimit`, as a structured dictionary.
    case dictionary
    /// A field for each number.
    case numbers(LimitFields)
    /// The used part and the limit in one field: `32/40`.
    case share(String)
    /// A wait for each group of categories in one field: `60:error;transaction:key, 2700::organization`.
    case categories(String)

    /// A field for each number, as ``LimitFields/init(_:_:unit:)`` names them.
    fileprivate static func each(_ pattern: String, _ name: String? = nil, unit: String? = nil) -> LimitForm {
        .numbers(LimitFields(pattern: pattern, name, unit: unit))
    }

    /// The form in the documentation.
    package var text: String {
        switch self {
        case .list: "`ratelimit` and `ratelimit-policy`, lists"
        case .dictionary: "`ratelimit`, a dictionary"
        case .numbers(let fields): fields.text
        case .share(let field), .categories(let field): "`\(field)`"
        }
    }

    /// The names of all fields.
    package var names: [String] {
        switch self {
        case .list: ["ratelimit", "ratelimit-policy"]
        case .dictionary: ["ratelimit"]
        case .numbers(let fields):
            [fields.limit, fields.remaining, fields.window].compactMap(\.self) + fields.resets
        case .share(let field), .categories(let field): [field]
        }
    }
}

/// The field names of a limit that has a field for each number.
package struct LimitFields: Sendable, Hashable {
    /// The limit's name.
    package let name: String?
    /// The counted unit; nil for requests.
    package let unit: String?
    package let limit: String?
    package let remaining: String
    /// The fields for the time until the reset; the first readable one counts.
    package let resets: [String]
    /// The field for the window, in milliseconds.
    package let window: String?
    /// The form in the documentation.
    fileprivate let text: String

    /// - Parameter pattern: The names of the fields, with a star for `limit`, `remaining`, and `reset-after` or
    ///   `reset`.
    fileprivate init(pattern: String, _ name: String?, unit: String?) {
        let parts = pattern.split(separator: "*", omittingEmptySubsequences: false)
        func field(_ word: String) -> String { parts.joined(separator: word) }
        (self.name, self.unit, text) = (name, unit, "`\(pattern)`")
        (limit, remaining, window) = (field("limit"), field("remaining"), nil)
        resets = [field("reset-after"), field("reset")]
    }

    fileprivate init(_ name: String, limit: String? = nil, remaining: String, window: String? = nil) {
        (self.name, self.limit, self.remaining, self.window) = (name, limit, remaining, window)
        (unit, resets) = (nil, [])
        text = [limit, remaining, window].compactMap(\.self).map { "`\($0)`" }.joined(separator: ", ")
    }
}
