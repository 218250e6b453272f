#if Demo
    import Foundation
    import ResilienceSync
    import Testing

    @testable import RetryStorm

    @Suite(.timeLimit(.minutes(20))) struct QueueFileTests {
        private let mutations = ["a", "b"].map { Mutation(id: $0, entity: $0, kind: "create", payload: Data()) }

        private func backlog(in store: SQLiteStore) async throws -> (ids: [String], isResumed: Bool) {
            let (found, isResumed) = try await QueueFile(nil).backlog(in: store) { mutations }
            return (found.map(\.id), isResumed)
        }

        @Test("an empty file is filled; what is pending, or was set aside, is drained, and no more is added")
        func setAside() async throws {
            let store = try SQLiteStore.temporary()
            #expect(try await backlog(in: store) == (["a", "b"], false))
            let positions = try await store.heads(after: .min, limit: 9).map(\.position)
            _ = try await store.apply([.died(positions[0], error: "410", rest: .skip)], claiming: [])
            #expect(try await backlog(in: store) == (["a", "b"], true))
            _ = try await store.apply(positions.map { .died($0, error: "410", rest: .skip) }, claiming: [])
            #expect(try await backlog(in: store) == (["a", "b"], true))
        }
    }
#endif
