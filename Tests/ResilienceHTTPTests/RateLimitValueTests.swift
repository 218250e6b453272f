import Resilience
import ResilienceHTTP
import Testing

/// Friday, 2026-11-20 22:20:00 UTC is 1 795 213 200.
private let clock: Int64 = 1_795_213_200

/// The values that servers write into their rate limit fields.
@Suite struct RateLimitValueTests {
    private func quotas(_ fields: [String: String], now: Int64 = clock) -> [ServerQuota] {
        RateLimitFields(now: now) { fields[$0] }.quotas
    }

    @Test("GitLab's RateLimit-Reset is an instant, not 57 years (P63)")
    func instantInAnOldDraft() {
        let fields = ["ratelimit-limit": "60", "ratelimit-remaining": "0", "ratelimit-reset": "\(clock + 60)"]
        #expect(quotas(fields) == [ServerQuota(limit: 60, remaining: 0, resetsAfter: .seconds(60))])
        let get = RequestSemantics(method: "GET")
        #expect(Verdict(httpStatus: 429, for: get, now: clock, fields: fields) == .throttled(retryAfter: .seconds(60)))
    }

    @Test("if the reset of a structured field is an instant, it is read as an instant (P63)")
    func instantInAList() {
        #expect(quotas(["ratelimit": #""a";r=0;t=\#(clock + 9)"#])[0].resetsAfter == .seconds(9))
        #expect(quotas(["ratelimit": #""a";r=0;t=\#(clock * 1000 + 9_001)"#])[0].resetsAfter == .milliseconds(9_001))
        #expect(quotas(["ratelimit": #""a";r=0;t=999999999"#])[0].resetsAfter == .seconds(999_999_999))
    }

    @Test(
        "parameters after the numbers of the old drafts are ignored", arguments: ["5;comment=1", "5 ; a=\"b\"", "5;"])
    func parameters(value: String) {
        let fields = ["ratelimit-limit": value, "ratelimit-remaining": value, "ratelimit-reset": value]
        #expect(quotas(fields) == [ServerQuota(limit: 5, remaining: 5, resetsAfter: .seconds(5))])
    }

    @Test("a limit whose remaining count can't be read is still reported")
    func limitAlone() {
        #expect(
            quotas(["ratelimit-limit": "60", "ratelimit-remaining": "none", "ratelimit-reset": "7"])
                == [ServerQuota(limit: 60, resetsAfter: .seconds(7))])
        #expect(quotas(["x-ratelimit-limit-tokens": "9"]).map(\.limit) == [9])
        #expect(
            quotas(["ratelimit-policy": #""a";q=100;w=60"#])
                == [ServerQuota(name: "a", limit: 100, window: .seconds(60))])
        #expect(quotas(["ratelimit-reset": "7"]) == [])
    }

    @Test(
        "Shopify's share at or above its limit means that nothing is left",
        arguments: ["41/40", "40/40", "99999999999999999999/40"])
    func overdrawn(value: String) {
        #expect(quotas(["x-shopify-shop-api-call-limit": value]) == [ServerQuota(limit: 40, remaining: 0)])
    }

    @Test("a policy reports its unit, unless the unit is requests")
    func units() {
        func unit(_ parameter: String) -> String? {
            quotas(["ratelimit": #""a";r=5"#, "ratelimit-policy": #""a";q=9\#(parameter)"#])[0].unit
        }
        #expect(
            unit(#";qu="content-bytes""#) == "content-bytes" && unit(";qu=concurrent-requests") == "concurrent-requests"
        )
        #expect(unit("") == nil && unit(#";qu="requests""#) == nil && unit(#";qu="request""#) == nil)
    }

    @Test(
        "a date in RFC 3339's form is read as an instant, and never too early",
        arguments: [
            ("2026-11-20T22:20:30Z", 30), ("2026-11-20T22:20:30.000Z", 30), ("2026-11-20T22:20:30.0001Z", 31),
            ("2026-11-20T23:20:30+01:00", 30), ("2026-11-20T20:50:30-01:30", 30), ("2026-11-20T22:20:60Z", 60),
            ("2026-11-20T22:19:59Z", 0), ("1999-12-31T23:59:59Z", 0), ("2027-11-20T22:20:00Z", 31_536_000),
        ])
    func internetDates(value: String, seconds: Int) {
        let fields = ["x-ratelimit-remaining": "0", "x-ratelimit-reset": value]
        #expect(quotas(fields)[0].resetsAfter == .seconds(seconds))
    }

    @Test(
        "an impossible date, or one in another form, is ignored",
        arguments: [
            "2026-02-29T00:00:00Z", "2026-13-01T00:00:00Z", "2026-00-01T00:00:00Z", "2026-11-20T24:00:00Z",
            "2026-11-20T22:20:00", "2026-11-20 22:20:00Z", "2026-11-20T22:20Z", "2026-11-20T22:20:00.Z",
            "2026-11-20T22:20:00+24:00", "2026-11-20T22:20:00+0100", "2026-11-20T22:20:00ZZ", "26-11-20T22:20:00Z",
        ])
    func noDates(value: String) {
        let fields = ["x-ratelimit-remaining": "0", "x-ratelimit-reset": value]
        #expect(quotas(fields) == [ServerQuota(remaining: 0)])
    }

    @Test("every reset field is checked in the same way in every dialect (P63)")
    func everyReset() {
        for case .numbers(let fields) in RateLimitRow.all.flatMap(\.limits) {
            for reset in fields.resets {
                for (value, wait) in [
                    ("\(clock + 60)", .seconds(60)), ("\((clock + 60) * 1000)", .seconds(60)), ("\(clock - 1)", .zero),
                    ("999999999", .seconds(999_999_999)), ("60.5", .milliseconds(60_500)),
                    ("1m0.5s", .milliseconds(60_500)),
                    ("2026-11-20T22:21:00Z", .seconds(60)), ("60 ;a", .seconds(60)),
                ] as [(String, Duration)] {
                    let read = quotas([fields.remaining: "0", reset: value])
                    #expect(read.map(\.resetsAfter) == [wait], "\(reset): \(value)")
                }
            }
        }
        #expect(quotas(["ratelimit": "limit=1, remaining=0, reset=\(clock + 7)"])[0].resetsAfter == .seconds(7))
        #expect(quotas(["x-sentry-rate-limits": "\(clock + 7):error:key"])[0].resetsAfter == .seconds(7))
    }

    @Test("one draft's fields are not read as another draft's fields")
    func drafts() {
        #expect(quotas(["ratelimit": "limit;r=5, remaining;r=0"]).map(\.name) == ["limit", "remaining"])
        #expect(quotas(["ratelimit": "limit=5, remaining=-1"]) == [ServerQuota(limit: 5)])
        for value in ["limit=100; remaining=50", "limit=1.5", "reset=5", #"limit="5""#, "remaining"] {
            #expect(
                quotas(["ratelimit": value]).map(\.limit) == (value.hasPrefix("limit=100") ? [100] : []), "\(value)")
        }
    }

    @Test("if several policies have the same name, the first one counts for each limit of that name")
    func sameName() {
        let read = quotas(["ratelimit": "a;r=1, a;r=2", "ratelimit-policy": "a;q=9;w=1, a;q=8;w=2"])
        #expect(read.map(\.remaining) == [1, 2] && read.map(\.limit) == [9, 9])
    }

    /// If each item searched the other list, this would take minutes.
    @Test("two lists of 30 000 names in opposite order are matched one by one")
    func longLists() {
        let names = 0..<30_000
        let read = quotas([
            "ratelimit": names.map { "n\($0);r=\($0)" }.joined(separator: ", "),
            "ratelimit-policy": names.reversed().map { "n\($0);q=\($0 + 1)" }.joined(separator: ", "),
        ])
        #expect(read.count == names.count)
        #expect(read.allSatisfy { $0.name == $0.remaining.map { "n\($0)" } && $0.limit == $0.remaining.map { $0 + 1 } })
    }
}
