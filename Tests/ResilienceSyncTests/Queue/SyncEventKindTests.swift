import ResilienceSync
import Testing

@Suite struct SyncEventKindTests {
    @Test("every event keeps its kind, and no two have the same")
    func stable() {
        let kinds = [
            SyncEvent.enqueued(1), .coalesced(id: "a", into: "b", cancelsOut: false), .dropped(id: "a"),
            .attempted(id: "a"), .delivered(id: "a"), .failed(id: "a", failures: 1, error: ""),
            .died(id: "a", error: ""),
            .paused(for: .zero), .offline(error: ""), .drained, .cleared(1), .revived(1), .discarded(1),
            .storeFailed(error: ""), .suspected(id: "a", claims: 2),
            .cancelled(id: "a"),
        ].map(\.kind)
        #expect(
            kinds == [
                "enqueued", "coalesced", "dropped", "attempted", "delivered", "failed", "died", "paused", "offline",
                "drained", "cleared", "revived",
                "discarded", "storeFailed", "suspected", "cancelled",
            ])
    }
}
