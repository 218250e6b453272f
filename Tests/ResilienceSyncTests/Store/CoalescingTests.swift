import Foundation
import ResilienceSync
import Testing

@Suite struct CoalescingTests {
    enum Expected { case apart, nothing, earlierKind, laterKind }

    @Test(
        "any two operations coalesce as the table shows (C7)",
        arguments: [
            (.create, .create, .apart), (.create, .update, .earlierKind), (.create, .delete, .nothing),
            (.update, .create, .apart), (.update, .update, .earlierKind), (.update, .delete, .laterKind),
            (.delete, .create, .apart), (.delete, .update, .apart), (.delete, .delete, .laterKind),
            (nil, .create, .apart), (nil, .update, .apart), (nil, .delete, .apart), (nil, nil, .apart),
            (.create, nil, .apart), (.update, nil, .apart), (.delete, nil, .apart),
        ] as [(Mutation.Operation?, Mutation.Operation?, Expected)])
    func table(first: Mutation.Operation?, second: Mutation.Operation?, expected: Expected) {
        let merging = Coalescing.merging(acrossKinds: true) { $1.payload }
        for kind in ["kind", "other kind"] {
            let (earlier, later) = (mutation("1", first, kind: "kind"), mutation("2", second, kind: kind))
            func merged(_ kind: String, _ operation: Mutation.Operation) -> Coalescing.Outcome {
                .merged(
                    Mutation(
                        id: "1", entity: "e", kind: kind, operation: operation, payload: later.payload,
                        idempotencyKey: "key 2", createdAt: earlier.createdAt))
            }
            let outcome: Coalescing.Outcome =
                switch expected {
                case .apart: .apart
                case .nothing: .nothing
                case .earlierKind: merged("kind", first ?? .create)
                case .laterKind: merged(kind, .delete)
                }
            #expect(Coalescing.lastWriteWins.combine(earlier, later) == (kind == "kind" ? outcome : .apart))
            #expect(Coalescing.off.combine(earlier, later) == .apart)
            // Nobody can tell which handler should get two updates of different kinds.
            let areUpdates = (first, second) == (.update, .update)
            #expect(merging.combine(earlier, later) == (kind != "kind" && areUpdates ? .apart : outcome))
        }
    }

    @Test("the guide's own example: a create and a rename stay two mutations, each with its own payload")
    func createAndRename() {
        let create = mutation("1", .create, kind: "create", payload: #"{"title":"Draft","body":"3000 words"}"#)
        let rename = mutation("2", .update, kind: "rename", payload: #"{"title":"Plans"}"#)
        #expect(Coalescing.lastWriteWins.combine(create, rename) == .apart)
        let delete = mutation("3", .delete, kind: "delete")
        #expect(Coalescing.lastWriteWins.combine(rename, delete) == .apart)
    }

    @Test("mutations of different entities stay apart")
    func entities() {
        let outcome = Coalescing.lastWriteWins.combine(
            mutation("1", .update, entity: "a"), mutation("2", .update, entity: "b"))
        #expect(outcome == .apart)
    }

    @Test("an identical mutation keeps the key: the server may treat it as a repetition")
    func same() {
        let earlier = mutation("1", .delete, payload: "x")
        #expect(Coalescing.lastWriteWins.combine(earlier, mutation("2", .delete, payload: "x")) == .merged(earlier))
        let other = Coalescing.lastWriteWins.combine(earlier, mutation("2", .delete, payload: "y"))
        guard case .merged(let merged) = other else {
            Issue.record("\(other)")
            return
        }
        #expect(merged.idempotencyKey == "key 2")
    }

    @Test("mutations with the same payload but different kinds are not identical: their handlers may differ")
    func sameOfAnotherKind() {
        let merging = Coalescing.merging(acrossKinds: true) { $1.payload }
        let outcome = merging.combine(
            mutation("1", .delete, kind: "remove", payload: "x"), mutation("2", .delete, kind: "erase", payload: "x"))
        guard case .merged(let merged) = outcome else {
            Issue.record("\(outcome)")
            return
        }
        #expect(merged.kind == "erase" && merged.idempotencyKey == "key 2")
    }

    @Test("the caller merges creates and updates; a delete has its own payload")
    func merging() {
        let merging = Coalescing.merging { $0.payload + $1.payload }
        for first in [Mutation.Operation.create, .update] {
            guard case .merged(let merged) = merging.combine(mutation("1", first), mutation("2", .update)) else {
                Issue.record("\(first)")
                continue
            }
            #expect(merged.payload == Data("of 1of 2".utf8) && merged.operation == first)
        }
        guard case .merged(let merged) = merging.combine(mutation("1", .update), mutation("2", .delete)) else {
            Issue.record("no delete")
            return
        }
        #expect(merged.payload == Data("of 2".utf8))
    }

    private func mutation(
        _ id: String, _ operation: Mutation.Operation?, entity: String = "e", kind: String = "kind",
        payload: String? = nil
    ) -> Mutation {
        Mutation(
            id: id, entity: entity, kind: kind, operation: operation, payload: Data((payload ?? "of \(id)").utf8),
            idempotencyKey: "key \(id)", createdAt: Date(timeIntervalSince1970: 1_700_000_000))
    }
}
