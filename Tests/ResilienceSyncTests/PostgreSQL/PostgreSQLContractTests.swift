#if PostgreSQL
    import Foundation
    import Resilience
    import ResilienceSync
    import ResilienceSyncTesting
    import ResilienceTesting
    import TestSupport
    import Testing

    @Suite(.timeLimit(.minutes(20)), .postgreSQL) struct PostgreSQLContractTests {
        @Test("the store in PostgreSQL keeps the contract, also when it is opened again and again")
        func contract() async throws {
            let engine = try TestDatabase.engine()
            let contract = StoreContract {
                try await PostgreSQLStore(engine, schema: TestDatabase.newSchema())
            } reopening: { store in
                try await PostgreSQLStore(
                    engine, schema: String(store.path.dropFirst("PostgreSQL ".count).prefix { $0 != "." }))
            }
            let report = await contract.check(steps: 300, tasks: 8, seed: 4)
            #expect(report.violations == [])
            #expect(report.trials > 30)
        }

        @Test("a store that many workers share also keeps the contract, except that each worker gets the lock")
        func shared() async throws {
            let engine = try TestDatabase.engine()
            let report = await StoreContract {
                try await PostgreSQLStore(engine, schema: TestDatabase.newSchema(), sending: .shared)
            }.check(steps: 100, tasks: 8, seed: 5)
            #expect(Set(report.violations.map(\.trial)) == ["the sending lock"])
        }
    }
#endif
