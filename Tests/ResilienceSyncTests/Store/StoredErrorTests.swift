import Foundation
import ResilienceSync
import Testing

/// What a store keeps of an error.
@Suite struct StoredErrorTests {
    @Test(
        "an error is kept up to its 1 000th character, whichever store it is",
        arguments: [
            (String(repeating: "x", count: 1_000), String(repeating: "x", count: 1_000)),
            (String(repeating: "x", count: 1_001), String(repeating: "x", count: 999) + "…"),
            (String(repeating: "é", count: 2_000_000), String(repeating: "é", count: 999) + "…"),
            // One character to a reader, and two million to SQLite.
            (
                "e" + String(repeating: "\u{301}", count: 2_000_000),
                "e" + String(repeating: "\u{301}", count: 998) + "…"
            ),
        ])
    func bound(error: String, kept: String) async throws {
        let stores = try everyStore()
        for store in stores {
            try await store.append(["a1", "b1", "b2", "c1"].map { Mutation($0) })
            _ = try await store.apply(
                [
                    .failed(1, error: error), .parked(2, error: error, rest: .parkRest),
                    .parked(4, error: error, rest: .block),
                ], claiming: [])
            let all = try await store.pending(after: .min, limit: 9) + store.dead(after: .min, limit: 9)
            #expect(all.count == 4)
            // Told apart by scalars, as they are stored.
            #expect(all.allSatisfy { $0.lastError?.unicodeScalars.elementsEqual(kept.unicodeScalars) == true })
        }
    }
}
