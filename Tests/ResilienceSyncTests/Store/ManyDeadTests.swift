import Foundation
import ResilienceSync
import TestSupport
import Testing

/// "All" means all, however many there are.
@Suite(.timeLimit(.minutes(20)), .heavy) struct ManyDeadTests {
    @Test("2 500 dead mutations are revived at once, and discarded at once")
    func all() async throws {
        let stores = try everyStore()
        for store in stores {
            try await store.append(Mutation.many(2_500))
            let parkAll = (1...2_500).map { MutationChange.died($0, error: "410", rest: .skip) }
            _ = try await store.apply(parkAll, claiming: [])
            #expect(try await store.reviveAll(at: Date()) == 2_500)
            var totals = try await store.totals()
            #expect(totals.pending == 2_500 && totals.dead == 0)
            _ = try await store.apply(parkAll, claiming: [])
            #expect(try await store.discardAll() == 2_500)
            totals = try await store.totals()
            #expect(totals.pending == 0 && totals.dead == 0)
        }
    }

    @Test(
        "if many are beyond the limits, 1 000 make room at a time, so that no caller waits long for the database (P52)"
    )
    func inSteps() async throws {
        for store in try everyStore() {
            try await store.append(Mutation.many(2_500))
            let parkAll = (1...2_500).map { MutationChange.died($0, error: "410", rest: .skip) }
            _ = try await store.apply(parkAll, claiming: [])
            var dropped: [String] = []
            for expected in [1_000, 1_000, 490, 0] {
                let step = try await store.apply([], claiming: [], keeping: DeadLimits(maxCount: 10), at: Date())
                    .dropped
                #expect(step.count == expected)
                dropped += step
            }
            #expect(dropped == (0..<2_490).map { "\($0)" })
            #expect(try await store.totals().dead == 10)
        }
    }

    @Test("an acknowledgement's cost does not grow with its lane's dead mutations")
    func acknowledgements() async throws {
        for make in [{ () throws -> any MutationStore in MemoryStore() }, { try everyStore().last ?? MemoryStore() }] {
            /// The shortest of three: other tests run beside this one.
            func time(behind dead: Int64) async throws -> Duration {
                var least = Duration.seconds(3_600)
                for _ in 0..<3 {
                    let store = try make()
                    let count = dead + 100
                    let lane = (0..<count).map { Mutation(id: "\($0)", entity: "e", kind: "k", payload: Data()) }
                    _ = try await store.append(lane, under: AppendRules(coalescing: .off), at: Date())
                    _ = try await store.apply((1...dead).map { .died($0, error: "410", rest: .skip) }, claiming: [])
                    // This acknowledgement finds them all.
                    _ = try await store.apply([.acknowledged(dead + 1)], claiming: [])
                    let start = ContinuousClock.now
                    for position in dead + 2...count {
                        _ = try await store.apply([.acknowledged(position)], claiming: [])
                    }
                    least = min(least, ContinuousClock.now - start)
                }
                return least
            }
            let (few, many) = (try await time(behind: 10), try await time(behind: 3_000))
            #expect(many < few * 10 + .milliseconds(10), "\(many) behind 3 000, \(few) behind 10")
        }
    }
}
