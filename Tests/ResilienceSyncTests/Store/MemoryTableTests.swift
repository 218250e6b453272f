import Foundation
import ResilienceTesting
import TestSupport
import Testing

@testable import ResilienceSync

@Suite(.heavy) struct SortedPositionsTests {
    @Test("however positions come and go, the table equals a sorted array", arguments: 1...10 as ClosedRange<UInt64>)
    func agreesWithSortedArray(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var positions = SortedPositions()
        var model: Set<Int64> = []
        // Enough for several chunks; the first rounds fill, the last empty it.
        for round in 0..<6_000 {
            let position = Int64.random(in: 0..<3_000, using: &random)
            if Int.random(in: 0..<6_000, using: &random) > round {
                positions.insert(position)
                model.insert(position)
            } else {
                positions.remove(position)
                model.remove(position)
            }
            guard round % 50 == 0 else { continue }
            let sorted = model.sorted()
            #expect(positions.page(after: .min, limit: .max) == sorted)
            #expect(positions.first == sorted.first && positions.last == sorted.last)
            #expect(positions.isEmpty == sorted.isEmpty)
            let after = Int64.random(in: -1...3_000, using: &random)
            let limit = Int.random(in: 0...1_500, using: &random)
            #expect(positions.next(after: after) == sorted.first { $0 > after })
            #expect(positions.page(after: after, limit: limit) == Array(sorted.filter { $0 > after }.prefix(limit)))
        }
    }

    @Test(
        "positions in order, the usual case, fill chunk after chunk; after removal from either end, no position is left"
    )
    func inOrder() {
        for isFromTheFront in [true, false] {
            var positions = SortedPositions()
            for position in Int64(1)...2_000 { positions.insert(position) }
            #expect(positions.page(after: 510, limit: 4) == [511, 512, 513, 514])
            let all = Array(Int64(1)...2_000)
            for position in isFromTheFront ? all : all.reversed() {
                #expect((isFromTheFront ? positions.first : positions.last) == position)
                positions.remove(position)
                positions.remove(position)
            }
            #expect(positions.isEmpty && positions.first == nil && positions.last == nil)
        }
    }

    @Test("the highest position is found, and nothing above it; a limit of zero returns nothing")
    func edges() {
        var positions = SortedPositions()
        positions.insert(.max)
        positions.insert(.min)
        #expect(positions.page(after: .min, limit: 5) == [.max])
        #expect(positions.next(after: .max - 1) == .max && positions.next(after: .max) == nil)
        #expect(positions.page(after: .max, limit: 5) == [] && positions.page(after: 0, limit: 0) == [])
        #expect(positions.page(after: 0, limit: -1) == [])
    }
}

@Suite struct MemoryTableTests {
    @Test("a removed mutation leaves nothing behind, after any operations", arguments: 1...20 as ClosedRange<UInt64>)
    func nothingIsLeft(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let store = MemoryStore()
        var date = Date(timeIntervalSince1970: 1_700_000_000)
        var last = 0
        for step in 0..<400 {
            let all = store.pending(after: .min, limit: .max).map(\.position)
            let dead = store.dead(after: .min, limit: .max).map(\.position)
            // A clock may be set back.
            date = date.addingTimeInterval(Double.random(in: -5...20, using: &random))
            let some = [all.randomElement(using: &random), dead.randomElement(using: &random)].compactMap(\.self)
            switch Int.random(in: 0..<10, using: &random) {
            case 0...3:
                let mutations = (0..<Int.random(in: 1...3, using: &random)).map { _ in
                    last += 1
                    return Mutation(
                        // Now and then one of the mutations already exists, and then none is stored.
                        id: last % 17 == 0 ? "\(last - 1)" : "\(last)",
                        entity: ["a", "b", "c"].randomElement(using: &random)!, kind: "k", operation: .update,
                        payload: Data(count: last % 5))
                }
                _ = try? store.append(
                    mutations, under: AppendRules(maxCount: 12, overflow: .dropOldest), at: date)
            case 4...6:
                let changes = all.prefix(3).map { position -> MutationChange in
                    switch Int.random(in: 0..<4, using: &random) {
                    case 0: .acknowledged(position)
                    case 1: .failed(position, error: "x")
                    default: .died(position, error: "x", rest: LaneRule.allCases.randomElement(using: &random)!)
                    }
                }
                _ = store.apply(
                    changes.shuffled(using: &random), claiming: Array(all.suffix(2)),
                    keeping: DeadLimits(maxCount: 6, maxAge: .seconds(100)), at: date)
            case 7: _ = store.revive(some, evenOvertaken: Bool.random(using: &random), at: date)
            case 8: _ = store.discard(some)
            default: _ = step % 40 == 0 ? store.removePending(all) : Int(store.seal() & 1)
            }
            let table = store.table
            #expect(table == table.rebuilt, "step \(step)")
        }
        _ = store.removePending(store.pending(after: .min, limit: .max).map(\.position))
        _ = store.discard(store.dead(after: .min, limit: .max).map(\.position))
        #expect(store.table == store.table.rebuilt)
        #expect(store.totals() == QueueTotals())
    }
}
