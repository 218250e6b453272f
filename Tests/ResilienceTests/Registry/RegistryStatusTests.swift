import Foundation
import ResilienceTesting
import Testing

@testable import Resilience

@Suite struct RegistryStatusTests {
    let clock = ManualClock()

    @Test("a registry of throttles reports each key's status, and whether a call would go now")
    func throttles() throws {
        let throttles = ThrottleRegistry<String> { [clock] _ in Throttle(limit: .perSecond(1), timeBase: clock) }
        #expect(throttles.isAllowed("/a") && throttles.count == 0)
        try throttles["/a"].tryAcquire().complete(.success)
        _ = throttles["/b"]
        #expect(!throttles.isAllowed("/a") && throttles.isAllowed("/b"))
        #expect(throttles.statuses.mapValues(\.timeUntilNext) == ["/a": .seconds(1), "/b": .zero])
        clock.advance(by: .seconds(1))
        #expect(throttles.isAllowed("/a"))
        throttles["/a"].hold(for: .seconds(1))
        #expect(!throttles.isAllowed("/a") && throttles.isAllowed("/b"))
    }

    @Test("a registry of bulkheads reports each key's status, and whether a call would get in now")
    func bulkheads() throws {
        let bulkheads = BulkheadRegistry<String> { [clock] _ in Bulkhead(limit: 1, queue: 5, timeBase: clock) }
        #expect(bulkheads.isAllowed("/a") && bulkheads.count == 0)
        let permit = try bulkheads["/a"].tryAcquire()
        #expect(!bulkheads.isAllowed("/a") && bulkheads.statuses.mapValues(\.inUse) == ["/a": 1])
        permit.complete(.success)
        #expect(bulkheads.isAllowed("/a"))
    }

    @Test("a registry of pipelines reports all policies' statuses, and whether a call would get through now")
    func pipelines() throws {
        let pipelines = PipelineRegistry<String> { [clock] key in
            Pipeline {
                Timeout(limit: .seconds(9))
                Retry()
                CircuitBreaker(key, tripping: .consecutiveFailures(1), timeBase: clock)
                Throttle(limit: .perSecond(1), timeBase: clock)
                Bulkhead(limit: 1, timeBase: clock)
            }
        }
        #expect(pipelines.isAllowed("/a") && pipelines.count == 0)
        let pipeline = pipelines["/a"]
        _ = pipelines["/b"]
        let permit = try pipeline.policies(of: Bulkhead.self).first?.tryAcquire()
        #expect(!pipelines.isAllowed("/a") && pipelines.isAllowed("/b"))
        permit?.complete(.success)
        #expect(pipelines.isAllowed("/a"))
        try pipeline.policies(of: Throttle.self).first?.tryAcquire().complete(.success)
        #expect(!pipelines.isAllowed("/a"))
        clock.advance(by: .seconds(1))
        #expect(pipelines.isAllowed("/a"))
        pipeline.policies(of: CircuitBreaker.self).first?.trip()
        #expect(!pipelines.isAllowed("/a") && pipelines.isAllowed("/b"))
        let statuses = try #require(pipelines.statuses["/a"])
        #expect(statuses.count == 3 && pipelines.statuses.count == 2)
        #expect(statuses.map(\.policy) == ["/a", "throttle", "bulkhead"])
        let circuit = try #require(statuses[0].detail as? CircuitBreakerStatus)
        let throttle = try #require(statuses[1].detail as? ThrottleStatus)
        let bulkhead = try #require(statuses[2].detail as? BulkheadStatus)
        #expect(circuit.state == .open && throttle.available == 1 && bulkhead.inUse == 0)
        #expect(statuses.map(\.isAllowed) == [false, true, true])
    }

    // MARK: Snapshots

    private func breakers(_ limit: Int = 2) -> CircuitBreakerRegistry<String> {
        CircuitBreakerRegistry { [clock] key in
            key == "/window"
                ? CircuitBreaker(key, tripping: .failureRatio(0.5), timeBase: clock)
                : CircuitBreaker(key, tripping: .consecutiveFailures(limit), timeBase: clock)
        }
    }

    @Test("after a restart every key's circuit is restored from JSON; circuits without state are not stored (P12)")
    func snapshots() throws {
        let before = breakers()
        for _ in 0..<2 { try before["/open"].tryAcquire().complete(.transient) }
        try before["/counted"].tryAcquire().complete(.transient)
        before["/isolated"].setMode(.isolated)
        _ = before["/well"]
        let stored = try JSONEncoder().encode(before.snapshots(wallClock: 1_000_000))
        let snapshots = try JSONDecoder().decode([String: CircuitSnapshot].self, from: stored)
        #expect(Set(snapshots.keys) == ["/open", "/counted", "/isolated"])

        let after = breakers(3)
        #expect(after.restore(snapshots, wallClock: 1_010_000) == [])
        #expect(after["/open"].status.timeRemaining == .seconds(50) && after["/isolated"].mode == .isolated)
        #expect(after["/counted"].status == CircuitBreakerStatus(state: .closed, failureCount: 1, failureLimit: 3))
        #expect(after.count == 3)
    }

    @Test("a key with an invalid snapshot is returned, and all other snapshots are restored (P12)")
    func unusable() throws {
        let before = breakers()
        for key in ["/a", "/b", "/c"] { for _ in 0..<2 { try before[key].tryAcquire().complete(.transient) } }
        var snapshots = before.snapshots(wallClock: 0)
        var memory = try #require(snapshots["/b"]).memory
        memory.remaining = .seconds(-1)
        snapshots["/b"] = CircuitSnapshot(memory: memory, takenAt: 0)
        snapshots["/window"] = snapshots["/a"]
        let after = breakers()
        #expect(Set(after.restore(snapshots, wallClock: 0)) == ["/b", "/window"])
        #expect(after["/a"].state == .open && after["/b"].state == .closed && after["/c"].state == .open)
    }

    @Test(
        "after a restart every pipeline's breakers are restored, and keys with unusable snapshots are returned (P12)"
    )
    func pipelineSnapshots() throws {
        let pipelines: @Sendable (Int) -> PipelineRegistry<String> = { [clock] breakers in
            PipelineRegistry { key in
                Pipeline {
                    CircuitBreaker(
                        tripping: .consecutiveFailures(1), openFor: .seconds(300), timeBase: clock)
                    Retry()
                    if breakers == 2 { CircuitBreaker(tripping: .consecutiveFailures(2), timeBase: clock) }
                }
            }
        }
        let before = pipelines(2)
        for key in ["/a", "/b", "/c"] { before[key].circuitBreakers[1].trip() }
        before["/b"].circuitBreakers[0].trip()
        _ = before["/well"]
        let stored = try JSONEncoder().encode(before.snapshots(wallClock: 0))
        var snapshots = try JSONDecoder().decode([String: [CircuitSnapshot?]].self, from: stored)
        #expect(Set(snapshots.keys) == ["/a", "/b", "/c"])
        var memory = try #require(snapshots["/b"]?[0]).memory
        memory.trips = -1
        snapshots["/b"]?[0] = CircuitSnapshot(memory: memory, takenAt: 0)
        snapshots["/c"]?[0] = nil

        let after = pipelines(2)
        #expect(after.restore(snapshots, wallClock: 1000) == ["/b"])
        #expect(after["/a"].circuitBreakers.map(\.status.timeRemaining) == [nil, .seconds(59)])
        #expect(after["/b"].circuitBreakers.map(\.state) == [.closed, .open])
        #expect(after["/c"].circuitBreakers.map(\.state) == [.closed, .open])
        let changed = pipelines(1)
        #expect(Set(changed.restore(snapshots, wallClock: 1000)) == ["/a", "/b", "/c"])
        #expect(changed.values.values.allSatisfy { $0.circuitBreakers[0].state == .closed })
    }
}
