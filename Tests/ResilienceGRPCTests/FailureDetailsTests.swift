#if GRPC
    import GRPCCore
    import Resilience
    @testable import ResilienceGRPC
    import Testing

    @Suite struct FailureDetailsTests {
        @Test(
            "a failed RPC is logged by its code, without its message; if a policy here rejected it, the rejection is logged"
        )
        func rpc() throws {
            let error = RPCError(code: .unavailable, message: "secret")
            #expect(FailureDetail(of: error).description == "RPCError unavailable")
            let rejected = try #require(RPCError(policyFailure: BulkheadFull(policy: "room", reason: .full)))
            #expect(FailureDetail(of: rejected).description == "BulkheadFull full (room)")
            let ends: [(AttemptEnd, String)] = [
                (.status(Status(code: .dataLoss, message: "secret"), [:]), "RPCError dataLoss"),
                (.lost(error), "RPCError unavailable"), (.notOpened(error), "RPCError unavailable"),
            ]
            for (end, text) in ends { #expect(end.failureDetail.description == text) }
        }
    }
#endif
