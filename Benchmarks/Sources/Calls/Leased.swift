import Resilience
import ResilienceFleet

/// The engine of a fleet without other processes or a server: it grants every wanted permit.
private struct Generous: ScriptEngine {
    func run(_ script: EngineScript, keys: [String], arguments: [String]) async throws -> [Int64] {
        // The seventh argument is the lease time, the ninth the wanted permits. The answer: granted, wait, members,
        // lot, valid, gate, holds, epoch.
        [Int64(arguments[8]) ?? 0, 0, 1, 0, Int64(arguments[6]) ?? 0, 0, 0, 0]
    }
}

extension Calls {
    /// A throttle like `ample`, with permits on lease.
    private static func leased(for leaseTime: Duration) -> Throttle {
        Throttle(
            limit: .perSecond(1_000_000_000, burst: 1_000_000_000),
            in: Fleet("benchmark", engine: Generous(), leaseTime: leaseTime))
    }

    private static let withPermits = leased(for: .seconds(60))

    /// Calls that find permits.
    static let onLease = Calls("throttle of a fleet, with permits") { count in
        let pipeline = Pipeline { withPermits }
        // A call of a high cost makes the throttle want as many for the next calls.
        while withPermits.status.available < 15_000_000 {
            _ = try await pipeline.run(options: RunOptions(cost: 20_000_000)) { 0 }
        }
        try await Calls("", through: pipeline).make(count)
    }

    /// Calls that use up lots, in order.
    public static let leasing = Calls(
        "throttle of a fleet, leases of 100 ms", through: Pipeline { leased(for: .milliseconds(100)) })
}
