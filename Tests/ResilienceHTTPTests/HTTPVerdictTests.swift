import Resilience
import ResilienceHTTP
import Testing

private let get = RequestSemantics(method: "GET")
private let post = RequestSemantics(method: "POST")
private let keyedPost = RequestSemantics(method: "POST", hasIdempotencyKey: true)

@Suite struct HTTPVerdictTests {
    private static let transient: Set = [408, 425, 500, 502, 503, 504]
    private static let permanent5xx: Set = [501, 505, 506, 507, 508, 510, 511]

    @Test("every status of a GET has the table's verdict", arguments: 100...599)
    func table(status: Int) {
        let expected: Verdict =
            switch status {
            case ..<400: .success
            case 429: .throttled
            case _ where Self.transient.contains(status): .transient
            case ..<500: .permanent
            case _ where Self.permanent5xx.contains(status): .permanent
            default: .transient
            }
        #expect(Verdict(httpStatus: status, for: get, fields: [:]) == expected)
    }

    @Test(
        "a status outside 100...599 is taken for a server's error", arguments: [.min, -1, 0, 1, 99, 600, 999, Int.max])
    func outOfRange(status: Int) {
        #expect(Verdict(httpStatus: status, for: get, fields: [:]) == .transient)
        #expect(Verdict(httpStatus: status, for: post, fields: [:]) == .uncertain)
    }

    // MARK: Retry-After

    @Test("Retry-After makes 403, 429 and 503 throttled with that wait", arguments: [403, 429, 503])
    func retryAfter(status: Int) {
        #expect(verdict(status, ["Retry-After": "30"]) == .throttled(retryAfter: .seconds(30)))
        #expect(verdict(status, ["Retry-After": "0"]) == .throttled(retryAfter: .zero))
        let dated = [
            "Retry-After": "Sun, 06 Nov 1994 08:49:37 GMT", "Date": "Sun, 06 Nov 1994 08:49:07 GMT",
        ]
        #expect(verdict(status, dated) == .throttled(retryAfter: .seconds(30)))
        let undated = Verdict(
            httpStatus: status, for: get, now: 784_111_747, fields: ["Retry-After": "Sun, 06 Nov 1994 08:49:37 GMT"])
        #expect(undated == .throttled(retryAfter: .seconds(30)))
    }

    @Test("a Retry-After that can't be read is as good as none", arguments: ["-1", "", "2.5", "soon", "1, 2"])
    func unreadableRetryAfter(value: String) {
        #expect(verdict(429, ["Retry-After": value]) == .throttled)
        #expect(verdict(503, ["Retry-After": value]) == .transient)
        #expect(verdict(403, ["Retry-After": value]) == .permanent)
    }

    @Test("Retry-After changes no other status", arguments: [200, 301, 400, 404, 408, 425, 500, 501, 502, 504])
    func retryAfterElsewhere(status: Int) {
        #expect(verdict(status, ["Retry-After": "30"]) == verdict(status, [:]))
    }

    // MARK: 403, 409, 429

    @Test("a 403 with no requests remaining is throttled", arguments: ["0", " 0", "00"])
    func spentLimit(remaining: String) {
        #expect(verdict(403, ["X-RateLimit-Remaining": remaining]) == .throttled)
    }

    @Test("a 403 with requests remaining is permanent", arguments: ["1", "10", "", "-0", "0.0", "none"])
    func unspentLimit(remaining: String) {
        #expect(verdict(403, ["X-RateLimit-Remaining": remaining]) == .permanent)
    }

    @Test("a 403 whose body speaks of a rate limit is throttled")
    func secondaryLimit() {
        #expect(verdict(403, [:], remark: .rateLimited) == .throttled)
        #expect(verdict(403, ["Retry-After": "60"], remark: .rateLimited) == .throttled(retryAfter: .seconds(60)))
        #expect(verdict(404, [:], remark: .rateLimited) == .permanent)
    }

    @Test("an exhausted quota is permanent, whatever wait is named", arguments: [403, 429])
    func quota(status: Int) {
        #expect(verdict(status, ["Retry-After": "30"], remark: .quotaExhausted) == .permanent)
    }

    @Test("a 409 is transient only for a request with a key that the server says is in flight")
    func conflict() {
        #expect(verdict(409, [:], of: keyedPost, remark: .inFlight) == .transient)
        #expect(verdict(409, [:], of: keyedPost) == .permanent)
        #expect(verdict(409, [:], of: keyedPost, remark: .rateLimited) == .permanent)
        #expect(verdict(409, [:], of: post, remark: .inFlight) == .permanent)
        #expect(verdict(409, [:], of: get, remark: .inFlight) == .permanent)
    }

    // MARK: The server's own word

    @Test("the server's should-retry wins over the table", arguments: ["x-should-retry", "stripe-should-retry"])
    func shouldRetry(name: String) {
        for request in [get, post, keyedPost] {
            for status in [400, 401, 404, 408, 409, 425, 500, 501, 503, 599, 0] {
                #expect(verdict(status, [name: "true"], of: request) == .transient)
                #expect(verdict(status, [name: "false"], of: request) == .permanent)
            }
            #expect(
                verdict(429, [name: "true", "Retry-After": "9"], of: request) == .throttled(retryAfter: .seconds(9)))
            #expect(verdict(429, [name: "false", "Retry-After": "9"], of: request) == .permanent)
        }
    }

    @Test("a wait that comes with should-retry is not lost")
    func shouldRetryAfter() {
        #expect(verdict(409, ["x-should-retry": "true", "retry-after": "9"]) == .throttled(retryAfter: .seconds(9)))
    }

    @Test("should-retry does not turn a success into a failure", arguments: ["true", "false"])
    func shouldRetryOfSuccess(word: String) {
        #expect(verdict(200, ["x-should-retry": word]) == .success)
    }

    @Test("any other should-retry is ignored", arguments: ["", "1", "TRUE", "truely", "falsely", "true, false", "no"])
    func unreadableShouldRetry(word: String) {
        #expect(verdict(500, ["x-should-retry": word]) == .transient)
        #expect(verdict(404, ["x-should-retry": word]) == .permanent)
    }

    // MARK: Header names

    @Test(
        "fields are found whatever their case",
        arguments: ["Retry-After", "retry-after", "RETRY-AFTER", "rEtRy-aFtEr"])
    func caseOfNames(name: String) {
        #expect(verdict(503, [name: "7"]) == .throttled(retryAfter: .seconds(7)))
    }

    @Test("a lookup is asked with lower-case names, and not at all for a success")
    func lookup() {
        var asked: [String] = []
        _ = Verdict(httpStatus: 204, for: get) { name in
            asked.append(name)
            return nil
        }
        #expect(asked.isEmpty)
        _ = Verdict(httpStatus: 403, for: get) { name in
            asked.append(name)
            return nil
        }
        #expect(asked.contains("retry-after") && asked.contains("x-ratelimit-remaining"))
        #expect(asked.allSatisfy { $0 == $0.lowercased() })
    }

    private func verdict(
        _ status: Int, _ fields: [String: String], of request: RequestSemantics = get, remark: ServerRemark? = nil
    ) -> Verdict {
        Verdict(httpStatus: status, for: request, remark: remark, now: 0, fields: fields)
    }
}
