#if HTTPTypes
    import HTTPTypes
    import Resilience
    import ResilienceHTTP
    import Testing

    @Suite struct FailureResponseHTTPTypesTests {
        @Test("the heads of responses have status and fields, but no body fields without a body")
        func heads() {
            let open = CallFailure(CircuitOpen(policy: "p", retryAfter: .seconds(30)))
            let throttled = CallFailure(ThrottleExceeded(policy: "p", retryAfter: .milliseconds(1)))
            #expect(
                HTTPResponse(upstream: open)
                    == HTTPResponse(status: .serviceUnavailable, headerFields: [.retryAfter: "30"]))
            #expect(
                HTTPResponse(rejecting: throttled)
                    == HTTPResponse(status: .tooManyRequests, headerFields: [.retryAfter: "1"]))
            #expect(HTTPResponse(rejecting: throttled, limitsClient: false).status == .serviceUnavailable)
            #expect(
                HTTPResponse(FailureResponse(upstream: open)).headerFields[.contentType] == "application/problem+json")
        }

        @Test("a status outside HTTP becomes a 500", arguments: [Int.min, -1, 0, 99, 600, 1000, Int.max])
        func status(code: Int) {
            #expect(FailureResponse(status: code, reason: .failed).httpStatus == .internalServerError)
        }

        @Test("a user's own status is kept, and 499 has a phrase")
        func own() {
            #expect(FailureResponse(status: 418, reason: .failed).httpStatus.code == 418)
            let gone = FailureResponse(rejecting: CallFailure(CancellationError())).httpStatus
            #expect(gone.code == 499 && gone.reasonPhrase == "Client Closed Request")
        }
    }
#endif
