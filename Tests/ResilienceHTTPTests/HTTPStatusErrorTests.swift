import Resilience
import ResilienceHTTP
import Testing

@Suite struct HTTPStatusErrorTests {
    @Test("a thrown status keeps its verdict, including the wait")
    func classified() {
        let error = HTTPStatusError(status: 429, verdict: .throttled(retryAfter: .seconds(30)))
        #expect(Classifier.standard.verdict(for: error) == .throttled(retryAfter: .seconds(30)))
    }

    @Test(
        "the text of a status error is readable",
        arguments: [
            (404, .permanent, "HTTP status 404 (permanent)"),
            (502, .transient, "HTTP status 502 (transient)"),
            (429, .throttled, "HTTP status 429 (throttled)"),
            (429, .throttled(retryAfter: .seconds(30)), "HTTP status 429 (throttled, retry after 30 s)"),
            // A wait never reads as 0 s.
            (503, .throttled(retryAfter: .milliseconds(1)), "HTTP status 503 (throttled, retry after 1 s)"),
        ] as [(Int, Verdict, String)])
    func description(status: Int, verdict: Verdict, text: String) {
        #expect("\(HTTPStatusError(status: status, verdict: verdict))" == text)
    }
}
