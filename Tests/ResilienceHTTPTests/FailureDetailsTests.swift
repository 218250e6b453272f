import Foundation
import Resilience
import ResilienceHTTP
import Testing

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// What logs show of failed requests: never a path, a query, a field's value or credentials.
@Suite struct FailureDetailsTests {
    private let url = "http://name:secret@prices.example:8080/path/17?token=secret"

    @Test("an answer is shown as its status and its host")
    func answers() throws {
        let url = try #require(URL(string: url))
        let response = try #require(
            HTTPURLResponse(
                url: url, statusCode: 503, httpVersion: nil, headerFields: ["Authorization": "secret"]))
        #expect(response.failureDetail.description == "HTTP 503 at prices.example:8080")
        #expect(FailureDetail(of: HTTPStatusError(status: 429, verdict: .throttled)).description == "HTTP 429")
    }

    @Test("an error is shown as its code, and its host if it knows the URL")
    func errors() throws {
        let url = try #require(URL(string: url))
        let error = URLError(.cannotConnectToHost, userInfo: [NSURLErrorFailingURLErrorKey: url])
        #expect(FailureDetail(of: error).description == "URLError -1004 at prices.example:8080")
        #expect(FailureDetail(of: URLError(.timedOut)).description == "URLError -1001")
        #expect(FailureDetail(of: POSIXError(.EPIPE)).description == "POSIXError 32")
        let own = NSError(domain: "store", code: 7, userInfo: [NSLocalizedDescriptionKey: "secret"])
        #expect(FailureDetail(of: own).description == "NSError store 7")
    }
}

#if HTTPTypes
    import HTTPTypes

    extension FailureDetailsTests {
        @Test("an answer of swift-http-types, alone or with its body, is shown as its status")
        func httpTypes() async {
            let told = Locked<[String]>([])
            let pipeline = Pipeline(
                observers: PolicyObservers { event in told.withLock { $0.append(event.failure?.description ?? "") } }
            ) {}
            _ = try? await pipeline.run(judging: { $0.0.verdict(for: RequestSemantics(method: "GET")) }) {
                (HTTPResponse(status: .badGateway, headerFields: [.authorization: "secret"]), Data())
            }
            #expect(told.withLock { $0 } == ["HTTP 502", "HTTP 502"])
        }
    }
#endif
