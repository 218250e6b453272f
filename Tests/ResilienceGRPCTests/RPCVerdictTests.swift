#if GRPC
    import GRPCCore
    import Resilience
    import ResilienceHTTP
    @testable import ResilienceGRPC
    import Testing

    @Suite struct RPCVerdictTests {
        static let kinds: [RPCError.Code: Verdict.Kind] = [
            .cancelled: .cancelled, .unknown: .uncertain, .invalidArgument: .permanent, .deadlineExceeded: .uncertain,
            .notFound: .permanent, .alreadyExists: .permanent, .permissionDenied: .permanent,
            .resourceExhausted: .throttled, .failedPrecondition: .permanent, .aborted: .permanent,
            .outOfRange: .permanent, .unimplemented: .permanent, .internalError: .uncertain, .unavailable: .transient,
            .dataLoss: .permanent, .unauthenticated: .permanent,
        ]

        @Test("every status code has its verdict", arguments: allCodes)
        func code(_ code: RPCError.Code) {
            #expect(RPCError(code: code, message: "").verdict == Verdict(Self.kinds[code] ?? .success))
        }

        @Test("sixteen codes mean failure")
        func count() { #expect(allCodes.count == 16 && Self.kinds.count == 16) }

        @Test("a pushback sets the wait, and keeps the verdict's kind", arguments: allCodes)
        func pushback(_ code: RPCError.Code) {
            let error = RPCError(code: code, message: "", metadata: ["grpc-retry-pushback-ms": "1500"])
            #expect(Verdict(error) == Verdict(Self.kinds[code] ?? .success, retryAfter: .milliseconds(1500)))
        }

        @Test(
            "a pushback that is a number with a fraction is a wait, rounded up to milliseconds",
            arguments: [("1.5", 2), ("1.0", 1), ("0.001", 1), ("1 ", 1), ("007", 7)])
        func fraction(_ text: String, _ milliseconds: Int) {
            let error = RPCError(code: .unavailable, message: "", metadata: ["grpc-retry-pushback-ms": .string(text)])
            #expect(Verdict(error) == Verdict(.transient, retryAfter: .milliseconds(milliseconds)))
        }

        @Test(
            "a pushback that is negative, above 32 bits or not a number asks not to retry",
            arguments: [
                "-1", "-0", "", " ", "-1.5", "1.", ".5", "1.5.5", "+1", "0x1", "2147483647.5", "2147483648",
                "99999999999999999999", "٣", "soon",
            ])
        func stop(_ text: String) {
            let error = RPCError(code: .unavailable, message: "", metadata: ["grpc-retry-pushback-ms": .string(text)])
            #expect(Verdict(error) == Verdict(.transient, shouldRetry: false))
        }

        @Test("the first pushback counts")
        func first() {
            var metadata: Metadata = ["grpc-retry-pushback-ms": "1"]
            metadata.addString("-1", forKey: "GRPC-Retry-Pushback-Ms")
            #expect(RetryPushback(metadata) == .after(milliseconds: 1))
            #expect(RetryPushback([:]) == nil)
        }

        @Test(
            "a wait is written in milliseconds, rounded up, within 32 bits",
            arguments: [
                (Duration.zero, "0"), (.nanoseconds(1), "1"), (.milliseconds(1), "1"), (.microseconds(1001), "2"),
                (.seconds(-1), "0"), (.seconds(3_000_000), "2147483647"), (.seconds(Int64.max), "2147483647"),
            ] as [(Duration, String)])
        func written(_ wait: Duration, _ text: String) {
            #expect(RetryPushback(wait).text == text)
            #expect(RetryPushback(text: text) == RetryPushback(wait))
        }

        @Test("an error that a policy of this process caused shows nothing about the server")
        func causes() {
            let open = CircuitOpen(policy: "breaker", retryAfter: .seconds(3))
            let rejected = RPCError(code: .unknown, message: "", cause: open).verdict
            #expect(rejected == Verdict(.rejected, retryAfter: .seconds(3)))
            #expect(RPCError(code: .unavailable, message: "", cause: DeadlinePassed()).verdict == .rejected)
            #expect(RPCError(code: .unknown, message: "", cause: CancellationError()).verdict == .cancelled)
        }

        @Test(
            "if an RPC fails, its server sends the retry hints of the failure's cause",
            arguments: [
                (RPCError(code: .deadlineExceeded, message: ""), 504, nil),
                (RPCError(code: .deadlineExceeded, message: "", cause: DeadlinePassed()), 504, nil),
                (RPCError(code: .unavailable, message: ""), 502, nil),
                (RPCError(code: .cancelled, message: ""), 502, nil),
                (RPCError(code: .notFound, message: ""), 502, nil),
                (RPCError(code: .resourceExhausted, message: ""), 503, nil),
                (
                    RPCError(
                        code: .unavailable, message: "", cause: CircuitOpen(policy: "b", retryAfter: .seconds(3))), 503,
                    .seconds(3)
                ),
            ] as [(RPCError, Int, Duration?)])
        func answered(_ error: RPCError, _ status: Int, _ wait: Duration?) {
            let response = FailureResponse(upstream: CallFailure(error))
            #expect(response.status == status && response.retryAfter == wait)
        }

        @Test("a pipeline around a call classifies RPCError without a classifier")
        func standard() {
            #expect(Classifier.standard.verdict(for: RPCError(code: .notFound, message: "")) == .permanent)
            #expect(CallFailure(RPCError(code: .notFound, message: "")).reachedService == true)
        }
    }
#endif
