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
        "a status outside 100...599 counts as a server error", arguments: [.min, -1, 0, 1, 99, 600, 999, Int.max])
    func outOfRange(status: Int) {
        #expect(Verdict(httpStatus: status, for: get, fields: [:]) == .transient)
        #expect(Verdict(httpStatus: status, for: post, fields: [:]) == .uncertain)
    }

    // MARK: Retry-After

    @Test("a 503 is a failure of the endpoint, not a limit; its verdict has the wait that it names")
    func unavailable() {
        #expect(verdict(503, ["Retry-After": "86400"]) == .transient(retryAfter: .seconds(86_400)))
        #expect(verdict(503, ["Retry-After": "0"]) == .transient(retryAfter: .zero))
        // A 503 means that the server did not act on the request.
        #expect(verdict(503, ["Retry-After": "7"], of: post) == .transient(retryAfter: .seconds(7)))
        #expect(
            Verdict(httpStatus: 503, for: get, remark: .rateLimited, fields: ["Retry-After": "7"]).kind == .throttled)
    }

    @Test("a 403 or a 429 with a Retry-After is throttled, with that wait", arguments: [403, 429])
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

    @Test("a 503 whose limit is used up is throttled until the limit's reset")
    func limited503() {
        let fields = ["RateLimit": #""default";r=0;t=30"#]
        #expect(verdict(503, fields) == .throttled(retryAfter: .seconds(30)))
        #expect(verdict(503, ["RateLimit": #""default";r=1;t=30"#]) == .transient)
        #expect(verdict(503, ["RateLimit": #""default";r=0"#]) == .transient)
        #expect(verdict(500, fields) == .transient)
    }

    @Test("an unreadable Retry-After is ignored", arguments: ["-1", "", "2.5", "soon", "1, 2"])
    func unreadableRetryAfter(value: String) {
        #expect(verdict(429, ["Retry-After": value]) == .throttled)
        #expect(verdict(503, ["Retry-After": value]) == .transient)
        #expect(verdict(403, ["Retry-After": value]) == .permanent)
    }

    @Test("Retry-After sets the wait of every failure, and changes no other status", arguments: 400...599)
    func retryAfterOfFailures(status: Int) {
        let without = verdict(status, [:])
        let kind = status == 403 ? .throttled : without.kind
        #expect(verdict(status, ["Retry-After": "30"]) == Verdict(kind, retryAfter: .seconds(30)))
        #expect(without.retryAfter == nil)
    }

    @Test("Retry-After does not turn a success into a failure", arguments: [200, 202, 301])
    func retryAfterOfSuccess(status: Int) {
        #expect(verdict(status, ["Retry-After": "30"]) == .success)
    }

    // MARK: 403, 409, 429

    @Test("a 403 with no requests remaining is throttled", arguments: ["0", " 0", "00", "0.0", "0;comment=1"])
    func spentLimit(remaining: String) {
        #expect(verdict(403, ["X-RateLimit-Remaining": remaining]) == .throttled)
    }

    @Test("a 403 with requests remaining is permanent", arguments: ["1", "1.0", "10", "", "-0", "none"])
    func unspentLimit(remaining: String) {
        #expect(verdict(403, ["X-RateLimit-Remaining": remaining]) == .permanent)
    }

    @Test("a 403 whose body mentions a rate limit is throttled")
    func secondaryLimit() {
        #expect(verdict(403, [:], remark: .rateLimited) == .throttled)
        #expect(verdict(403, ["Retry-After": "60"], remark: .rateLimited) == .throttled(retryAfter: .seconds(60)))
        #expect(verdict(400, [:], remark: .rateLimited) == .throttled)
        #expect(verdict(200, [:], remark: .rateLimited) == .success)
    }

    @Test("an exhausted quota is permanent, even with a wait", arguments: [402, 403, 429])
    func quota(status: Int) {
        #expect(verdict(status, ["Retry-After": "30"], remark: .quotaExhausted) == .permanent)
    }

    @Test("a 409 is transient only for a request with a key that the server reports as in flight")
    func conflict() {
        #expect(verdict(409, [:], of: keyedPost, remark: .inFlight) == .transient)
        #expect(verdict(409, [:], of: keyedPost) == .permanent)
        #expect(verdict(409, [:], of: post, remark: .inFlight) == .permanent)
        #expect(verdict(409, [:], of: get, remark: .inFlight) == .permanent)
    }

    // MARK: The server's own advice

    @Test(
        "the server's should-retry decides about the retry; whether the server failed still depends on the status",
        arguments: ["x-should-retry", "stripe-should-retry"])
    func shouldRetry(name: String) {
        for request in [get, post, keyedPost] {
            for status in [400, 401, 404, 408, 409, 425, 429, 500, 501, 503, 599, 0] {
                let plain = verdict(status, [:], of: request)
                #expect(plain.shouldRetry == nil)
                for (word, wish) in [("true", true), ("false", false)] {
                    #expect(verdict(status, [name: word], of: request) == Verdict(plain.kind, shouldRetry: wish))
                    #expect(
                        verdict(status, [name: word, "Retry-After": "9"], of: request).retryAfter == .seconds(9))
                }
            }
        }
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

    @Test("gRPC's pushback is a wait; if it is negative, above 32 bits or not a number, it means not to retry")
    func pushback() {
        for (value, wait) in [("250", 250), ("1.5", 2), ("0.0001", 1), (" 7 ", 7), ("2147483647", 2_147_483_647)] {
            let verdict = verdict(503, ["grpc-retry-pushback-ms": value])
            #expect(verdict == .transient(retryAfter: .milliseconds(wait)), "\(value)")
        }
        for value in ["-1", "soon", "", "1.", "1e3", "2147483647.1", "2147483648", "99999999999999999999"] {
            #expect(verdict(500, ["grpc-retry-pushback-ms": value]) == Verdict(.transient, shouldRetry: false))
        }
        #expect(verdict(500, ["grpc-retry-pushback-ms": "-1"], dialect: .gitHub) == .transient)
    }

    // MARK: The body

    @Test("a remark about a response's meaning overrides its status, and the response's wait is kept")
    func means() {
        #expect(verdict(200, ["Retry-After": "5"], remark: .means(.transient)) == .transient(retryAfter: .seconds(5)))
        #expect(verdict(301, ["Retry-After": "5"], remark: .means(.throttled)) == .throttled(retryAfter: .seconds(5)))
        #expect(verdict(404, ["Retry-After": "5"], remark: .means(.success)) == .success)
        #expect(verdict(500, ["x-should-retry": "false"], remark: .means(.permanent)).shouldRetry == false)
    }

    @Test(
        "AWS's error code distinguishes a rate limit from another 400, with or without text around it",
        arguments: [
            "ThrottlingException", "com.amazonaws.dynamodb#ThrottlingException", "SlowDown:http://internal",
            "aws#PriorRequestNotComplete:x:y",
        ])
    func aws(code: String) {
        #expect(verdict(400, ["x-amzn-errortype": code]) == .throttled)
        #expect(verdict(200, ["x-amzn-errortype": code]) == .success)
        #expect(ServerRemark(awsErrorCode: code) == .rateLimited)
    }

    @Test("other AWS codes do not change the verdict", arguments: ["", "#", ":", "ValidationException", "throttling"])
    func awsOther(code: String) {
        #expect(verdict(400, ["x-amzn-errortype": code]) == .permanent)
        #expect(verdict(500, ["x-amzn-errortype": code]) == .transient)
    }

    @Test("AWS's time limit is transient, although it is a 400")
    func awsTimeout() {
        #expect(verdict(400, ["x-amzn-errortype": "RequestTimeout"], of: post) == .transient)
    }

    // MARK: Header names

    @Test(
        "fields are found in any letter case",
        arguments: ["Retry-After", "retry-after", "RETRY-AFTER", "rEtRy-aFtEr"])
    func caseOfNames(name: String) {
        #expect(verdict(503, [name: "7"]) == .transient(retryAfter: .seconds(7)))
    }

    @Test("a lookup gets lower-case names, and is not called for a successful response")
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
        _ status: Int, _ fields: [String: String], of request: RequestSemantics = get, remark: ServerRemark? = nil,
        dialect: RateLimitDialect = .automatic
    ) -> Verdict {
        Verdict(httpStatus: status, for: request, remark: remark, dialect: dialect, now: 0, fields: fields)
    }
}
