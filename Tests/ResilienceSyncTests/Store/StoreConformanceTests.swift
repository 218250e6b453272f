import Foundation
import Resilience
import ResilienceSync
import ResilienceSyncTesting
import TestSupport
import Testing

/// The contract of every store.
// C7
@Suite(.timeLimit(.minutes(20)), .heavy) struct StoreConformanceTests {
    @Test("the store in memory keeps the contract", arguments: [1, 2, 3] as [UInt64])
    func memory(seed: UInt64) async {
        let report = await StoreContract { MemoryStore() }.check(steps: 2_000, seed: seed)
        #expect(report.violations == [])
        #expect(report.trials > 30)
    }

    #if SQLite
        @Test("the store in a file keeps the contract, also when it is opened again and again")
        func file() async throws {
            let folder = try TemporaryFolder()
            let contract = StoreContract {
                try SQLiteStore(path: folder.path("\(UUID().uuidString).sqlite"))
            } reopening: { store in
                try SQLiteStore(path: store.path)
            }
            let report = await contract.check(steps: 300, tasks: 8, seed: 4)
            #expect(report.violations == [])
            #expect(report.trials > 30)
        }
    #endif

    @Test("a payload of 10 MB comes back byte by byte")
    func payloads() async throws {
        let stores = try everyStore()
        let payload = Data((0..<10_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31) })
        let mutation = Mutation(id: "a1", entity: "a", kind: "k", payload: payload)
        for store in stores {
            _ = try await store.append([mutation], under: AppendRules(), at: Date())
            #expect(try await store.pending(after: .min, limit: 1).first?.mutation == mutation)
        }
    }
}
