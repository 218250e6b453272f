import Resilience
import ResilienceTraffic
import ResilienceTesting
import TestSupport
import Testing

/// On the system's threads, so that the thread sanitizer can find races.
@Suite(.heavy, .timeLimit(.minutes(20))) struct EndpointPoolConcurrencyTests {
    @Test(
        "concurrent calls, permits, hedges, list changes and ejections by hand leave no call in flight",
        arguments: EndpointChoice.allCases)
    func all(choice: EndpointChoice) async {
        let recorder = EventRecorder()
        let pool = EndpointPool(
            "search", Array(0..<8), choosing: choice,
            ejecting: OutlierEjection(
                afterConsecutive: 2, deviation: .init(minimumEndpoints: 2, minimumCalls: 2),
                failureShare: .init(0.5, minimumEndpoints: 1, minimumCalls: 2), interval: .microseconds(200),
                for: .microseconds(100), upTo: .milliseconds(1), maxEjected: 0.8),
            slowStart: SlowStart(over: .milliseconds(1)), observers: PolicyObservers(recorder))
        let pipeline = Pipeline("search") {
            Retry(maxRetries: 2, backoff: .constant(.zero))
            Hedge(after: .constant(.zero), maxHedges: 1, budget: .ratio(1_000))
            pool
        }
        let ends = Box(0)
        await withTaskGroup { group in
            for task in 0..<8 {
                group.addTask {
                    var random = SeededGenerator(seed: UInt64(task))
                    for _ in 0..<300 {
                        let draw = Int.random(in: 0..<100, using: &random)
                        switch draw {
                        case ..<40:
                            _ = try? await pipeline.run(over: pool) { endpoint in
                                await Task {}.value
                                if endpoint % 3 == 0 { throw Outage() }
                            }
                        case ..<60:
                            _ = try? await pipeline.runHedged(over: pool) { endpoint in
                                await Task {}.value
                                if endpoint % 3 == 0 { throw Outage() }
                            }
                        case ..<70:
                            let call = Task { try await pipeline.run(over: pool) { _ in await Task {}.value } }
                            call.cancel()
                            _ = await call.result
                        case ..<80:
                            guard let permit = try? pool.pick() else { break }
                            if draw < 75 { permit.complete(.transient) }
                        case ..<90:
                            pool.update(
                                (0..<Int.random(in: 0..<12, using: &random)).map { $0 }, weights: [draw % 8: 3])
                        case ..<93: pool.eject(draw % 8, for: .microseconds(50))
                        case ..<96: pool.restore(draw % 8)
                        case ..<97: pool.reset()
                        default:
                            let status = pool.status
                            #expect(status.endpoints.allSatisfy { $0.inFlight >= 0 && $0.failures <= $0.calls })
                        }
                        ends.withLock { $0 += 1 }
                    }
                }
            }
        }
        #expect(ends.withLock { $0 } == 2_400)
        #expect(pool.status.endpoints.allSatisfy { $0.inFlight == 0 })
        #expect(recorder.count(EndpointPoolEvent.self) { $0.kind == "ejected" } > 0)
    }

    @Test("with any number of concurrent calls, round robin gives each endpoint its share")
    func shares() async {
        let pool = EndpointPool("search", Array(0..<5), choosing: .roundRobin)
        let counts = Box(Array(repeating: 0, count: 5))
        await withTaskGroup { group in
            for _ in 0..<8 {
                group.addTask {
                    for _ in 0..<500 {
                        _ = try? await pool.run { endpoint in counts.withLock { $0[endpoint] += 1 } }
                    }
                }
            }
        }
        #expect(counts.withLock { $0 } == Array(repeating: 800, count: 5))
        #expect(pool.isAtRest)
    }
}
