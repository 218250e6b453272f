#if GRPC
    import GRPCCore
    import Resilience
    @testable import ResilienceGRPC
    import TestSupport
    import Testing

    @Suite(.responsive) struct PolicyFailureTests {
        private struct Odd: Rejection {
            var retryAfter: Duration? { .seconds(1) }
            var description: String { "odd" }
        }

        private struct Ended: PolicyError {
            var underlying: (any Error)? { nil }
            var reachedService: Bool? { nil }
            var retryAfter: Duration? { nil }
            var description: String { "ended" }
        }

        @Test("every policy error becomes an RPC error with a status, and is the cause of that error")
        func statuses() throws {
            let table: [(any Error, RPCError.Code, String?)] = [
                (DeadlinePassed(), .deadlineExceeded, nil),
                (BulkheadFull(policy: "b", reason: .full), .resourceExhausted, nil),
                (ThrottleExceeded(policy: "t", retryAfter: .milliseconds(2500)), .resourceExhausted, "2500"),
                (WouldWait(policy: "w", retryAfter: nil), .resourceExhausted, nil),
                (CircuitOpen(policy: "c", retryAfter: .seconds(3)), .unavailable, "3000"),
                (Odd(), .unavailable, "1000"),
                (Ended(), .unavailable, nil),
                (TimedOut(policy: "t", limit: .seconds(1), underlying: nil), .deadlineExceeded, nil),
                (
                    TimedOut(policy: "t", limit: .seconds(1), underlying: RPCError(code: .notFound, message: "")),
                    .deadlineExceeded, nil
                ),
                (CancellationError(), .cancelled, nil),
                (CancelledWhileWaiting(lastError: nil, lastVerdict: .transient), .cancelled, nil),
            ]
            for (error, code, pushback) in table {
                let status = try #require(RPCError(policyFailure: error))
                #expect(status.code == code, "\(error)")
                #expect(
                    status.metadata[stringValues: "grpc-retry-pushback-ms"].first { _ in true } == pushback, "\(error)")
                #expect(status.cause.map { "\($0)" } == "\(error)")
                #expect(!status.message.isEmpty && !status.message.contains("("), "names no policy")
            }
        }

        @Test("after the retries run out, the RPC has the status of the last attempt")
        func retries() async throws {
            let retry = Retry(maxRetries: 1, backoff: .none, wrapsLastError: true)
            do {
                try await retry.run {
                    throw RPCError(code: .unavailable, message: "down", metadata: ["key": "value"])
                }
                Issue.record("no error")
            } catch {
                #expect(error is RetriesExhausted)
                let status = try #require(RPCError(policyFailure: error))
                #expect(status.code == .unavailable && status.message == "down" && status.metadata == ["key": "value"])
                #expect(status.cause is RetriesExhausted)
            }
        }

        @Test("an error of the call itself has no status from the policies")
        func own() {
            struct Own: Error {}
            #expect(RPCError(policyFailure: Own()) == nil)
        }
    }
#endif
