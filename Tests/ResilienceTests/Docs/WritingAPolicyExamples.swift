import Resilience
import Synchronization
import Testing

/// The policy of Docs/WritingAPolicy.md, word for word.
@Suite struct WritingAPolicyExamples {
    @Test("the guide's policy rejects calls only during maintenance")
    func maintenance() async throws {
        let maintenance = Maintenance()
        let pipeline = Pipeline { maintenance }
        #expect(try await pipeline.run { maintenance.callsInside } == 1)
        maintenance.begin()
        await #expect(throws: UnderMaintenance.self) { try await pipeline.run {} }
        maintenance.end()
        try await pipeline.run {}
        #expect(maintenance.callsInside == 0)
    }
}

final class Maintenance: Policy {
    let name = "maintenance"
    private let isOn = Atomic(false)
    private let inside = Atomic(0)

    var callsInside: Int { inside.load(ordering: .relaxed) }

    func begin() { isOn.store(true, ordering: .relaxed) }
    func end() { isOn.store(false, ordering: .relaxed) }

    func enter(_ call: inout PolicyCall, _ slot: inout PolicySlot) -> PolicyEntry {
        if isOn.load(ordering: .relaxed) { return .reject(UnderMaintenance()) }
        inside.add(1, ordering: .relaxed)
        return .proceed
    }

    func exit(_ call: inout PolicyCall, _ slot: inout PolicySlot, _ outcome: PolicyOutcome) -> PolicyExit {
        inside.subtract(1, ordering: .relaxed)
        return .pass
    }
}

struct UnderMaintenance: Rejection {
    var retryAfter: Duration? { .seconds(60) }
    var description: String { "Under maintenance." }
}
