import Foundation
import ResilienceTesting
import Testing

@testable import Resilience

@Suite struct FailureDetailTests {
    private enum Named: Error { case broken, status(Int) }
    private enum Numbered: Int, Error, CustomStringConvertible {
        case lost = 7

        var description: String { "Authorization: Bearer secret" }
    }
    private struct Plain: Error, CustomStringConvertible {
        let body = "{\"password\": \"secret\"}"
        var description: String { "answered \(body)" }
    }
    private struct Told: Error, FailureDescribing {
        var failureDetail: FailureDetail { FailureDetail("Told", code: "a\nb", host: "h:1") }
    }
    private struct Answer: FailureDescribing {
        var failureDetail: FailureDetail { FailureDetail("Answer", status: 503, host: "prices:8080") }
    }

    @Test(
        "an error's description has its type and code, and never its text (P76)",
        arguments: [
            (Named.broken, "Named broken"), (Named.status(500), "Named status"), (Numbered.lost, "Numbered 7"),
            (Plain(), "Plain"), (Told(), "Told a_b at h:1"), (CancellationError(), "CancellationError"),
            (BulkheadFull(policy: "room", reason: .full), "BulkheadFull full (room)"),
            (CircuitOpen(policy: "b", retryAfter: nil), "CircuitOpen open (b)"),
            (ThrottleExceeded(policy: "t", retryAfter: nil), "ThrottleExceeded (t)"),
            (DeadlinePassed(), "DeadlinePassed (deadline)"),
            (TimedOut(policy: "attempt", limit: .seconds(1), underlying: Plain()), "TimedOut 1 s (attempt)"),
            (InjectedFault(policy: "chaos", verdict: .transient), "InjectedFault transient (chaos)"),
        ] as [(any Error, String)])
    func errors(error: any Error, text: String) {
        #expect(FailureDetail(of: error).description == text)
    }

    @Test("a description is one short line, whatever the error contains")
    func bounded() {
        let long = String(repeating: "é\n\u{1B}[31m\u{2028}\u{202E}", count: 1_000)
        let detail = FailureDetail(long, code: long, host: long, policy: long)
        for part in [detail.type, detail.code, detail.host, detail.policy] {
            #expect((part?.unicodeScalars.count ?? 0) == 101 && part?.unicodeScalars.allSatisfy(\.isHarmless) == true)
        }
        #expect(detail.description.unicodeScalars.count == 201 && detail.description.allSatisfy { !$0.isNewline })
        #expect(FailureDetail("", code: "").description == " ")
    }

    @Test("a result has a failure detail if it describes failures, or is a pair with a part that describes failures")
    func results() {
        #expect(FailureDetail(ofResult: Answer())?.description == "HTTP 503 at prices:8080")
        #expect(FailureDetail(ofResult: (Data(), Answer()))?.status == 503)
        #expect(FailureDetail(ofResult: (status: Answer(), body: "secret"))?.status == 503)
        #expect(FailureDetail(ofResult: Optional(Answer()) as Any)?.status == 503)
        for result in ["secret", 500, (1, 2), [Answer()]] as [Any] { #expect(FailureDetail(ofResult: result) == nil) }
    }

    @Test("a host known from elsewhere is added, but does not replace the error's own host")
    func host() {
        #expect(FailureDetail("E").at("a").host == "a")
        #expect(FailureDetail("E", host: "b").at("a").host == "b")
        #expect(FailureDetail("E", code: "c", status: 1, policy: "p").at(nil).code == "c")
    }
}
