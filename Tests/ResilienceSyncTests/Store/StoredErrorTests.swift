import Foundation
import ResilienceSync
import Testing

/// How much of an error a store keeps.
@Suite struct StoredErrorTests {
    @Test(
        "any store keeps an error's first 1 000 characters (P52)",
        // The first character, the next, how often the next is repeated, and how many of these are kept before the "…".
        arguments: [
            ("x", "x", 999, nil),
            ("x", "x", 1_000, 998),
            ("é", "é", 2_000_000, 998),
            // One character to a reader, but two million to SQLite.
            ("e", "\u{301}", 2_000_000, 998),
        ] as [(String, String, Int, Int?)])
    func bound(first: String, next: String, count: Int, cut: Int?) async throws {
        let error = first + String(repeating: next, count: count)
        let kept = cut.map { first + String(repeating: next, count: $0) + "…" } ?? error
        let stores = try everyStore()
        for store in stores {
            try await store.append(["a1", "b1", "b2", "c1"].map { Mutation($0) })
            _ = try await store.apply(
                [
                    .failed(1, error: error), .died(2, error: error, rest: .killRest),
                    .died(4, error: error, rest: .block),
                ], claiming: [])
            let all = try await store.pending(after: .min, limit: 9) + store.dead(after: .min, limit: 9)
            #expect(all.count == 4)
            // Compared by scalars, as they are stored.
            #expect(all.allSatisfy { $0.lastError?.unicodeScalars.elementsEqual(kept.unicodeScalars) == true })
        }
    }
}
