import Resilience
import ResilienceHTTP
import Testing

private let post = RequestSemantics(method: "POST")

@Suite struct RequestSemanticsTests {
    @Test("idempotent methods may be sent twice", arguments: ["GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE"])
    func idempotent(method: String) {
        #expect(RequestSemantics(method: method).isRepeatable)
    }

    @Test(
        "a method not known to be idempotent may be sent twice only with a key",
        arguments: ["POST", "PATCH", "CONNECT", "get", "Put", "QUERY", "", "GET "])
    func notIdempotent(method: String) {
        #expect(!RequestSemantics(method: method).isRepeatable)
        #expect(RequestSemantics(method: method, hasIdempotencyKey: true).isRepeatable)
    }

    @Test(
        "a POST without an idempotency key is not retried after it may have been sent (P18)",
        arguments: [408, 425, 500, 502, 504, 520, 599])
    func postAfterSending(status: Int) {
        #expect(Verdict(httpStatus: status, for: post, fields: [:]) == .uncertain)
        #expect(Verdict(httpStatus: status, for: post, fields: ["Retry-After": "1"]).kind == .uncertain)
        #expect(Verdict(connectionFailureOf: post, mayHaveBeenSent: true) == .uncertain)
    }

    @Test("a POST with an idempotency key is retried like a GET", arguments: [408, 425, 500, 502, 504, 520, 599])
    func keyedPost(status: Int) {
        let request = RequestSemantics(method: "POST", hasIdempotencyKey: true)
        #expect(Verdict(httpStatus: status, for: request, fields: [:]) == .transient)
        #expect(Verdict(connectionFailureOf: request, mayHaveBeenSent: true) == .transient)
    }

    @Test("a POST that the server rejected is retried")
    func postRefused() {
        let wait = ["Retry-After": "3"]
        #expect(Verdict(httpStatus: 503, for: post, fields: [:]) == .transient)
        #expect(Verdict(httpStatus: 503, for: post, fields: wait) == .transient(retryAfter: .seconds(3)))
        #expect(Verdict(httpStatus: 429, for: post, fields: [:]) == .throttled)
        #expect(Verdict(httpStatus: 429, for: post, fields: wait) == .throttled(retryAfter: .seconds(3)))
        #expect(Verdict(httpStatus: 403, for: post, remark: .rateLimited, fields: [:]) == .throttled)
    }

    @Test("a POST that was never sent is retried")
    func postNeverSent() {
        #expect(Verdict(connectionFailureOf: post, mayHaveBeenSent: false) == .transient)
    }
}
