import Resilience
import ResilienceHTTP
import Testing

/// Sunday, 2023-11-14 22:13:20 UTC is 1 700 000 000.
private let date = "Tue, 14 Nov 2023 22:13:20 GMT"

@Suite struct RateLimitFieldsTests {
    private func read(_ fields: [String: String], _ dialect: RateLimitDialect = .automatic) -> RateLimitFields {
        RateLimitFields(dialect: dialect, now: 0) { fields[$0] }
    }

    struct Row: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let dialect: RateLimitDialect
        let fields: [String: String]
        let quotas: [ServerQuota]
    }

    private static let rows: [Row] = [
        Row(
            testDescription: "IETF, one limit", dialect: .ietf, fields: ["ratelimit": #""default";r=50;t=30"#],
            quotas: [ServerQuota(name: "default", remaining: 50, resetsAfter: .seconds(30))]),
        Row(
            testDescription: "IETF, limits with their policies", dialect: .ietf,
            fields: [
                "ratelimit": #""burst";r=0;t=1, "daily";r=7"#,
                "ratelimit-policy": #""daily";q=1000;w=86400, "burst";q=100;w=60;qu="requests""#,
            ],
            quotas: [
                ServerQuota(
                    name: "burst", limit: 100, remaining: 0, resetsAfter: .seconds(1), window: .seconds(60)),
                ServerQuota(name: "daily", limit: 1000, remaining: 7, window: .seconds(86_400)),
            ]),
        Row(
            testDescription: "draft 7", dialect: .ietfDraft7,
            fields: ["ratelimit": "limit=100, remaining=50;comment=1, reset=5", "ratelimit-policy": "100;w=60"],
            quotas: [ServerQuota(limit: 100, remaining: 50, resetsAfter: .seconds(5))]),
        Row(
            testDescription: "drafts to 6", dialect: .ietfDraft6,
            fields: ["ratelimit-limit": "10, 10;w=1, 50;w=60", "ratelimit-remaining": "0", "ratelimit-reset": "7"],
            quotas: [ServerQuota(limit: 10, remaining: 0, resetsAfter: .seconds(7))]),
        Row(
            testDescription: "GitHub, an instant", dialect: .gitHub,
            fields: [
                "x-ratelimit-limit": "5000", "x-ratelimit-remaining": "0", "x-ratelimit-reset": "1700000030",
                "date": date,
            ],
            quotas: [ServerQuota(limit: 5000, remaining: 0, resetsAfter: .seconds(30))]),
        Row(
            testDescription: "seconds from now, since the number is too small", dialect: .gitHub,
            fields: ["x-ratelimit-remaining": "0", "x-ratelimit-reset": "999999999", "date": date],
            quotas: [ServerQuota(remaining: 0, resetsAfter: .seconds(999_999_999))]),
        Row(
            testDescription: "milliseconds since 1970, since the number is too large", dialect: .gitHub,
            fields: ["x-rate-limit-remaining": "3", "x-rate-limit-reset": "1700000000007", "date": date],
            quotas: [ServerQuota(remaining: 3, resetsAfter: .milliseconds(7))]),
        Row(
            testDescription: "an instant with a fraction is never early", dialect: .gitHub,
            fields: ["x-ratelimit-remaining": "0", "x-ratelimit-reset": "1700000000.25", "date": date],
            quotas: [ServerQuota(remaining: 0, resetsAfter: .seconds(1))]),
        Row(
            testDescription: "an instant that has passed", dialect: .gitHub,
            fields: ["x-ratelimit-remaining": "0", "x-ratelimit-reset": "1600000000", "date": date],
            quotas: [ServerQuota(remaining: 0, resetsAfter: .zero)]),
        Row(
            testDescription: "OpenAI, requests and tokens", dialect: .openAI,
            fields: [
                "x-ratelimit-limit-requests": "60", "x-ratelimit-remaining-requests": "59",
                "x-ratelimit-reset-requests": "1s", "x-ratelimit-limit-tokens": "150000",
                "x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "6m0s",
            ],
            quotas: [
                ServerQuota(name: "requests", limit: 60, remaining: 59, resetsAfter: .seconds(1)),
                ServerQuota(name: "tokens", unit: "tokens", limit: 150_000, remaining: 0, resetsAfter: .seconds(360)),
            ]),
        Row(
            testDescription: "Anthropic, requests and tokens", dialect: .anthropic,
            fields: [
                "anthropic-ratelimit-requests-limit": "50", "anthropic-ratelimit-requests-remaining": "49",
                "anthropic-ratelimit-requests-reset": "2023-11-14T22:13:21Z",
                "anthropic-ratelimit-tokens-remaining": "7", "anthropic-ratelimit-input-tokens-limit": "40000",
                "anthropic-ratelimit-output-tokens-remaining": "0",
                "anthropic-ratelimit-output-tokens-reset": "2023-11-14T22:14:20Z", "date": date,
            ],
            quotas: [
                ServerQuota(name: "requests", limit: 50, remaining: 49, resetsAfter: .seconds(1)),
                ServerQuota(name: "tokens", unit: "tokens", remaining: 7),
                ServerQuota(name: "input-tokens", unit: "tokens", limit: 40_000),
                ServerQuota(name: "output-tokens", unit: "tokens", remaining: 0, resetsAfter: .seconds(60)),
            ]),
        Row(
            testDescription: "Discord, whose time until the reset is more exact than the instant", dialect: .discord,
            fields: [
                "x-ratelimit-limit": "5", "x-ratelimit-remaining": "0", "x-ratelimit-reset": "1700000002.345",
                "x-ratelimit-reset-after": "1.287", "x-ratelimit-bucket": "abcd1234", "date": date,
            ],
            quotas: [ServerQuota(limit: 5, remaining: 0, resetsAfter: .milliseconds(1_287))]),
        Row(
            testDescription: "Mastodon, an instant in RFC 3339's form", dialect: .mastodon,
            fields: [
                "x-ratelimit-limit": "300", "x-ratelimit-remaining": "0",
                "x-ratelimit-reset": "2023-11-14T22:15:00.019685Z", "date": date,
            ],
            quotas: [ServerQuota(limit: 300, remaining: 0, resetsAfter: .seconds(101))]),
        Row(
            testDescription: "Reddit, with a fraction that is rounded down", dialect: .reddit,
            fields: ["x-ratelimit-used": "2", "x-ratelimit-remaining": "598.9", "x-ratelimit-reset": "119"],
            quotas: [ServerQuota(remaining: 598, resetsAfter: .seconds(119))]),
        Row(
            testDescription: "Sentry's API", dialect: .sentry,
            fields: [
                "x-sentry-rate-limit-limit": "40", "x-sentry-rate-limit-remaining": "39",
                "x-sentry-rate-limit-reset": "1700000009", "x-sentry-rate-limit-concurrentremaining": "0",
                "date": date,
            ],
            quotas: [ServerQuota(limit: 40, remaining: 39, resetsAfter: .seconds(9))]),
        Row(
            testDescription: "Sentry's categories; an unreadable group is left out", dialect: .sentry,
            fields: [
                "x-sentry-rate-limits": "60:transaction:key, 2700:default;error:organization:quota, soon:a, 5::key,7"
            ],
            quotas: [
                ServerQuota(name: "transaction", remaining: 0, resetsAfter: .seconds(60)),
                ServerQuota(name: "default;error", remaining: 0, resetsAfter: .seconds(2700)),
                ServerQuota(remaining: 0, resetsAfter: .seconds(5)),
                ServerQuota(remaining: 0, resetsAfter: .seconds(7)),
            ]),
        Row(
            testDescription: "HubSpot; its per-second limit is no longer enforced", dialect: .hubSpot,
            fields: [
                "x-hubspot-ratelimit-max": "150", "x-hubspot-ratelimit-remaining": "149",
                "x-hubspot-ratelimit-interval-milliseconds": "10000", "x-hubspot-ratelimit-daily": "250000",
                "x-hubspot-ratelimit-daily-remaining": "0", "x-hubspot-ratelimit-secondly-remaining": "0",
            ],
            quotas: [
                ServerQuota(name: "interval", limit: 150, remaining: 149, window: .seconds(10)),
                ServerQuota(name: "daily", limit: 250_000, remaining: 0),
            ]),
        Row(
            testDescription: "Brevo", dialect: .brevo,
            fields: [
                "x-sib-ratelimit-limit": "100", "x-sib-ratelimit-remaining": "0", "x-sib-ratelimit-reset": "1800",
            ],
            quotas: [ServerQuota(limit: 100, remaining: 0, resetsAfter: .seconds(1800))]),
        Row(
            testDescription: "Azure reports only what is left of its limits", dialect: .azure,
            fields: [
                "x-ms-ratelimit-remaining-subscription-reads": "249", "x-ms-ratelimit-remaining-tenant-writes": "0",
                "x-ms-ratelimit-remaining-subscription-global-deletes": "2999",
            ],
            quotas: [
                ServerQuota(name: "subscription-reads", remaining: 249),
                ServerQuota(name: "subscription-global-deletes", remaining: 2999),
                ServerQuota(name: "tenant-writes", remaining: 0),
            ]),
        Row(
            testDescription: "AWS has no limit", dialect: .aws, fields: ["x-amz-retry-after": "1500"], quotas: []),
        Row(
            testDescription: "Shopify", dialect: .shopify, fields: ["x-shopify-shop-api-call-limit": "32/40"],
            quotas: [ServerQuota(limit: 40, remaining: 8)]),
        Row(
            testDescription: "gRPC has no limit", dialect: .grpc, fields: ["grpc-retry-pushback-ms": "5"], quotas: []),
    ]

    @Test("each dialect's fields are read, whether the dialect is named or found automatically", arguments: rows)
    func dialects(row: Row) {
        #expect(read(row.fields, row.dialect).quotas == row.quotas)
        #expect(read(row.fields).quotas == row.quotas)
        let forms = Set(RateLimitRow.all.filter { $0.dialect == row.dialect }.flatMap(\.limits))
        for other in RateLimitRow.all where forms.isDisjoint(with: other.limits) {
            #expect(read(row.fields, other.dialect).quotas == [], "\(other.dialect)")
        }
        #expect(read(row.fields, .none).quotas == [])
    }

    @Test("every dialect has a row in this test, and reads the names in its row")
    func complete() {
        #expect(Set(Self.rows.map(\.dialect)) == Set(RateLimitDialect.allCases).subtracting([.automatic, .none]))
        for row in RateLimitRow.all {
            var asked: Set<String> = []
            // A number is a limit in all forms except the lists, so the reader also asks for its reset.
            _ = RateLimitFields(dialect: row.dialect, now: 0) { name in
                asked.insert(name)
                return row.limits.contains { $0.names.dropFirst().contains(name) } && !name.contains("reset")
                    ? "5" : nil
            }
            let expected = Set(row.limits.flatMap(\.names) + row.waits)
            #expect(asked.isSuperset(of: expected), "\(row.dialect) lacks \(expected.subtracting(asked))")
        }
    }

    @Test(
        "a structured field with a mistake is ignored as a whole",
        arguments: [
            "", "default", #""default""#, #""default";r"#, #""default";r=-1"#, #""default";r=1.5"#, #""default";r=a"#,
            #""default;r=5"#, #""default";r=5,"#, #""default";r=5 "x";r=1"#, #""default";R=5"#, #""default";r=5;t=-1"#,
            #""default";r=5;t=1.0"#, #"("default");r=5"#, "7;r=5", #""d\x";r=5"#, #""d";r=5;x=:a"#, #""d";r=5;x=?2"#,
            #""d";r=5;x=@a"#, #""d";r=5;x=1."#, #""d";r=5;x=1.1234"#, #""d";r=1234567890123456"#, #""d";r =5"#,
            "\"d\u{e9}\";r=5", #""d";r=5;"#, #""d";r=5;x="a"#, #""d";r=5,,"e";r=5"#, #""d";r=5;r="a""#,
        ])
    func malformed(value: String) {
        #expect(read(["ratelimit": value]).quotas == [])
    }

    @Test(
        "additional parts of a structured field are checked, and then ignored",
        arguments: [
            #""d";r=5;x;y="a\"\\b";z=:aGk=:;v=?0;u=@-1659578233;w=a*b/c;q=1.125"#, #"d;r=5"#, #"*d;r=1;r=5"#,
            #" "d"; r=5 "#, #""d";x=-999999999999999;r=5"#, #""d";r=005"#,
        ])
    func besides(value: String) {
        #expect(read(["ratelimit": value]).quotas.map(\.remaining) == [5])
    }

    @Test("without a readable RateLimit-Policy, a quota has no limit")
    func policies() {
        let limit = #""d";r=5"#
        for policy in [#""d";q=-1"#, #""d""#, "", #""d";q=9;w=-1"#, #""d";q=9;qu=5"#, #""d";q=9;qu"#] {
            #expect(read(["ratelimit": limit, "ratelimit-policy": policy]).quotas.map(\.limit) == [nil], "\(policy)")
        }
        let other = read(["ratelimit": limit, "ratelimit-policy": #""e";q=9"#]).quotas
        #expect(other == [ServerQuota(name: "d", remaining: 5), ServerQuota(name: "e", limit: 9)])
    }

    @Test(
        "a malformed count is ignored",
        arguments: ["", "-1", "+1", "1.", ".1", "1e3", "0x1", " ", "1 2", "1, 2", "none"])
    func counts(value: String) {
        for name in ["x-ratelimit-remaining", "ratelimit-remaining", "x-ratelimit-remaining-tokens"] {
            #expect(read([name: value]).quotas == [])
        }
    }

    @Test(
        "an unreadable reset leaves the other values unchanged",
        arguments: ["", "-1", "1.", ".5", "soon", "1e9", "1 ", "2023-11-14"])
    func resets(value: String) {
        let fields = ["ratelimit-remaining": "0", "ratelimit-reset": value]
        let expected: Duration? = value == "1 " ? .seconds(1) : nil
        #expect(read(fields).quotas == [ServerQuota(remaining: 0, resetsAfter: expected)])
    }

    @Test(
        "a number too large for its type counts as the largest",
        arguments: ["9223372036854775807", "9223372036854775808", "99999999999999999999999999999999"])
    func huge(value: String) {
        let quota = read(["ratelimit-remaining": value, "ratelimit-reset": value, "ratelimit-limit": value]).quotas
        #expect(quota == [ServerQuota(limit: .max, remaining: .max, resetsAfter: .nanoseconds(Int64.max))])
        let epoch = read(["x-ratelimit-remaining": "0", "x-ratelimit-reset": value]).quotas
        #expect(epoch[0].resetsAfter.map { $0 > .seconds(1_000_000_000) } == true)
    }

    @Test(
        "a duration with units is the sum of its parts, rounded up to the nanosecond",
        arguments: [
            ("12ms", .milliseconds(12)), ("6m0s", .seconds(360)), ("1h2m3.5s", .milliseconds(3_723_500)),
            ("1d", .seconds(86_400)), ("0s", .zero), ("1.0000000001s", .nanoseconds(1_000_000_001)),
            ("5µs3us2ns", .nanoseconds(8_002)), ("1.5h", .seconds(5_400)), ("0.3ns", .nanoseconds(1)),
            ("99999999999999999999h", .nanoseconds(Int64.max)), ("1s1s", .seconds(2)),
        ] as [(String, Duration)])
    func units(value: String, duration: Duration) {
        let fields = ["x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": value]
        #expect(
            read(fields).quotas == [ServerQuota(name: "tokens", unit: "tokens", remaining: 0, resetsAfter: duration)])
    }

    @Test(
        "a duration with any other text is ignored", arguments: ["", "s", "-1s", "1 s", "1x", "1.s", "1s ,", "1M"])
    func noUnits(value: String) {
        let fields = ["x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": value]
        #expect(read(fields).quotas == [ServerQuota(name: "tokens", unit: "tokens", remaining: 0)])
    }

    @Test("Shopify's share must be well-formed", arguments: ["", "40", "/", "a/b", "1/2/3", "-1/40", "1/ 2"])
    func shares(value: String) {
        #expect(read(["x-shopify-shop-api-call-limit": value]).quotas == [])
    }

    // MARK: Waits

    @Test("milliseconds are preferred to seconds, and a fraction is read if the dialect has one")
    func retryAfter() {
        #expect(read(["retry-after-ms": "12.5", "retry-after": "1"]).retryAfter == .nanoseconds(12_500_000))
        #expect(read(["retry-after-ms": "0.0000001"]).retryAfter == .nanoseconds(1))
        #expect(read(["retry-after-ms": "-1", "retry-after": "1"]).retryAfter == .seconds(1))
        #expect(read(["retry-after-ms": "12", "retry-after": "1"], .gitHub).retryAfter == .seconds(1))
        #expect(read(["retry-after": "2.0"]).retryAfter == nil)
        #expect(read(["retry-after": "2.0"], .shopify).retryAfter == .seconds(2))
        #expect(
            read(["retry-after": "2.5", "x-shopify-shop-api-call-limit": "40/40"]).retryAfter == .milliseconds(2500))
        #expect(read(["retry-after": "2.5", "x-ratelimit-remaining": "0"]).retryAfter == nil)
    }

    @Test(
        "fields with milliseconds override Retry-After, in the dialects that have them",
        arguments: [
            ("retry-after-ms", [.openAI, .anthropic, .azure]), ("x-ms-retry-after-ms", [.azure]),
            ("x-amz-retry-after", [.aws]), ("grpc-retry-pushback-ms", [.grpc]),
        ] as [(String, [RateLimitDialect])])
    func milliseconds(name: String, dialects: [RateLimitDialect]) {
        for dialect in RateLimitDialect.allCases {
            let isKnown = dialect == .automatic || dialects.contains(dialect)
            let fields = read([name: "1500", "retry-after": "9"], dialect)
            #expect(fields.retryAfter == (isKnown ? .milliseconds(1500) : .seconds(9)), "\(dialect)")
            #expect(fields.shouldRetry == nil)
        }
    }

    @Test(
        "no wait ends before the instant that the server named, although clocks are read in whole seconds",
        arguments: [
            ("x-ratelimit-reset", "1700000030", 1_700_000_030_000),
            ("x-ratelimit-reset", "1700000030.25", 1_700_000_030_250),
            ("x-ratelimit-reset", "1700000030007", 1_700_000_030_007),
            ("retry-after", "Tue, 14 Nov 2023 22:13:50 GMT", 1_700_000_030_000),
        ])
    func neverEarly(name: String, value: String, instant: Int64) {
        for milliseconds in stride(from: Int64(1_700_000_028_999), through: 1_700_000_031_001, by: 77) {
            // The wall clock in whole seconds, and the server's date: both are truncated.
            for date in [nil, "Tue, 14 Nov 2023 22:13:\(milliseconds / 1000 - 1_700_000_000 + 20) GMT"] {
                let fields = RateLimitFields(dialect: .gitHub, now: milliseconds / 1000) {
                    [name: value, "date": date, "x-ratelimit-remaining": "0"][$0] ?? nil
                }
                let wait = name == "retry-after" ? fields.retryAfter : fields.quotas.first?.resetsAfter
                let end = wait.map { .milliseconds(milliseconds) + $0 }
                #expect(end.map { $0 >= .milliseconds(instant) } == true, "at \(milliseconds)")
                #expect(
                    end.map { $0 < .milliseconds(max(instant, milliseconds) + 2_000) } == true, "at \(milliseconds)")
            }
        }
    }

    @Test("a 429 that names no wait takes the longest reset time of the limits that are used up")
    func throttledByQuota() {
        let get = RequestSemantics(method: "GET")
        let fields = ["ratelimit": #""a";r=0;t=5, "b";r=1;t=90, "c";r=0;t=20, "d";r=0"#]
        #expect(read(fields).quotaWait == .seconds(20))
        #expect(Verdict(httpStatus: 429, for: get, fields: fields) == .throttled(retryAfter: .seconds(20)))
        #expect(Verdict(httpStatus: 403, for: get, fields: fields) == .throttled(retryAfter: .seconds(20)))
        #expect(Verdict(httpStatus: 500, for: get, fields: fields) == .transient)
        let both = fields.merging(["retry-after": "1"]) { $1 }
        #expect(Verdict(httpStatus: 429, for: get, fields: both) == .throttled(retryAfter: .seconds(1)))
        #expect(Verdict(httpStatus: 429, for: get, dialect: .none, fields: fields) == .throttled)
    }
}
